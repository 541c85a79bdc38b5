"""Options of LightGBM that have no effect on a ranker, or under conditions only."""

from ._options import Effects

_GOSS = "data_sample_strategy='goss' or boosting='goss'"

EFFECTS = Effects(
    none={
        "LightGBM's command line and its readers of files read it": (
            "config task data valid input_model output_model output_result convert_model "
            "convert_model_language snapshot_freq save_binary header two_round label_column "
            "weight_column group_column ignore_column precise_float_parser parser_config_file "
            "saved_feature_importance_type"
        ),
        "the trees grow on one machine": (
            "num_machines machines machine_list_filename local_listen_port time_out pre_partition "
            "tree_learner top_k"
        ),
        "predictions of a ranker are sums over all its trees": (
            "predict_raw_score predict_leaf_index predict_contrib predict_disable_shape_check "
            "pred_early_stop pred_early_stop_freq pred_early_stop_margin start_iteration_predict "
            "num_iteration_predict"
        ),
        "metrics of LightGBM are not computed, and training stops on the measure of the ranker": (
            "eval_at auc_mu_weights multi_error_top_k first_metric_only early_stopping_min_delta "
            "is_provide_training_metric metric_freq"
        ),
        "it belongs to objectives that do not rank": (
            "num_class is_unbalance scale_pos_weight boost_from_average reg_sqrt alpha fair_c "
            "poisson_max_delta_step tweedie_variance_power pos_bagging_fraction "
            "neg_bagging_fraction"
        ),
        "the rows have no positions": "lambdarank_position_bias_regularization",
        "trees are not refitted": "refit_decay_rate",
    },
    needs={
        "subsample": "bagging_freq bagging_by_query",
        f"subsample or {_GOSS}": "bagging_seed",
        _GOSS: "top_rate other_rate",
        "feature_fraction or max_features": "feature_fraction_seed",
        "extra_trees": "extra_seed",
        "boosting='dart'": (
            "drop_rate max_drop skip_drop uniform_drop drop_seed xgboost_dart_mode"
        ),
        "linear_tree": "linear_lambda",
        "use_quantized_grad": "num_grad_quant_bins quant_train_renew_leaf stochastic_rounding",
        "monotonic_cst": "monotone_constraints_method monotone_penalty",
        "cegb_penalty_split or cegb_penalty_feature_lazy or cegb_penalty_feature_coupled": (
            "cegb_tradeoff"
        ),
        "device_type='gpu' or device_type='cuda'": (
            "gpu_platform_id gpu_device_id gpu_device_id_list gpu_use_dp num_gpu"
        ),
        "loss='lambdarank'": "sigmoid label_gain lambdarank_truncation_level lambdarank_norm",
        "loss='rank_xendcg'": "objective_seed",
    },
)
