"""Options of XGBoost that have no effect on a ranker, or under conditions only."""

from ._options import Effects

EFFECTS = Effects(
    none={
        "a ranker has one score for each row": "num_class num_target multi_strategy",
        "XGBoost reads it from its own model files": (
            "num_feature num_trees boost_from_average rng_state"
        ),
        "it belongs to objectives that do not rank": "scale_pos_weight",
        "trees are grown by tree_method": "updater updater_seq process_type refresh_leaf",
        "it does not concern the trees": (
            "validate_parameters debug_synchronize fail_on_invalid_gpu_id use_rmm"
        ),
    },
    needs={
        "rate_drop or one_drop": "booster skip_drop sample_type normalize_type",
        "subsample": "sampling_method",
        "subsample or max_features or colsample_bytree or colsample_bylevel": (
            "seed_per_iteration"
        ),
        "loss='rank:ndcg'": "ndcg_exp_gain",
        "loss='rank:ndcg' or loss='rank:pairwise' or loss='rank:map'": (
            "lambdarank_pair_method lambdarank_num_pair_per_sample lambdarank_normalization "
            "lambdarank_score_normalization lambdarank_unbiased"
        ),
        "lambdarank_unbiased": "lambdarank_bias_norm",
    },
)
