"""The gallery: jobs first and theory last, and thumbnails on which labels can be read."""

from pathlib import Path

from PIL import Image
from sphinx_gallery import gen_rst

ORDER = (
    "tables/plot_table.py",
    "tables/plot_digits_retrieval.py",
    "lightgbm/plot_boosted_trees.py",
    "tuning/plot_gam_ranker.py",
    "tuning/plot_choose_alpha.py",
    "explaining/plot_explain_table.py",
    "explaining/plot_explain_order.py",
    "serving/plot_export.py",
    "clicks/plot_clicks.py",
    "clicks/plot_position_bias.py",
    "label_ranking/plot_label_ranking.py",
    "label_ranking/plot_nontransitive_preferences.py",
    "evaluation/plot_compare_rankers.py",
    "evaluation/plot_judge.py",
    "evaluation/plot_leaderboard.py",
    "evaluation/plot_measure_at_k.py",
    "theory/plot_the_law_from_scratch.py",
    "theory/plot_map_needs_pairs.py",
    "theory/plot_rows_and_context.py",
    "theory/plot_regret_curves.py",
    "theory/plot_regret_bounds.py",
    "theory/plot_calibration_gap.py",
    "theory/plot_calibration_function.py",
)


def section_order(folder):
    """Return the place of a folder of examples."""
    return [name.partition("/")[0] for name in ORDER].index(Path(folder).name)


class Order:
    """Sorts the examples of a section as listed."""

    def __init__(self, src_dir):
        self.section = Path(src_dir).name

    def __call__(self, filename):
        return ORDER.index(f"{self.section}/{filename}")


def crop_left(source, target, width, height):
    """Write a thumbnail of the left part of a wide figure: its first panel, with its labels."""
    with Image.open(source) as picture:
        wide, high = picture.size
        if wide > 2.2 * high:
            wide = high * width * 5 // (height * 4)
        part = picture.convert("RGBA").crop((0, 0, wide, high))
    ground = Image.new("RGBA", part.size, "white")
    ground.alpha_composite(part)
    ground.thumbnail((width, height), Image.Resampling.LANCZOS)
    thumbnail = Image.new("RGB", (width, height), "white")
    thumbnail.paste(ground, ((width - ground.width) // 2, (height - ground.height) // 2))
    thumbnail.save(target)


gen_rst.scale_image = crop_left
