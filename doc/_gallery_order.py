"""The order in which the gallery shows its examples, from first steps to theory."""

ORDER = (
    "plot_digits_retrieval.py",
    "plot_compare_rankers.py",
    "plot_measure_at_k.py",
    "plot_choose_alpha.py",
    "plot_gam_ranker.py",
    "plot_explain_order.py",
    "plot_explain_table.py",
    "plot_boosted_trees.py",
    "plot_label_ranking.py",
    "plot_clicks.py",
    "plot_map_needs_pairs.py",
    "plot_nontransitive_preferences.py",
    "plot_rows_and_context.py",
    "plot_regret_curves.py",
    "plot_regret_bounds.py",
    "plot_calibration_gap.py",
    "plot_calibration_function.py",
)


class Order:
    """Sorts file names as listed; those that are not follow in alphabetical order."""

    def __init__(self, src_dir):
        self.src_dir = src_dir

    def __call__(self, filename):
        return (ORDER.index(filename) if filename in ORDER else len(ORDER), filename)
