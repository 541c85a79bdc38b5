"""The changes of the package that its tests are tried on."""

from itertools import chain

import pytest
from mutants import PACKAGE, draw, equivalents, rooms
from sources import FILES, LEVEL_OF, ROOT

pytestmark = pytest.mark.skipif(ROOT != PACKAGE, reason="the package is not beside its tests")


def test_mutants_are_of_every_room():
    assert sorted(chain(*rooms().values())) == FILES
    named = {room for room in LEVEL_OF if room[0] != "_"}
    assert named | {"_cli", "_solvers", "(top)"} == set(rooms())


@pytest.mark.long
def test_the_seed_says_which_mutants_are_drawn():
    assert draw("losses", 2, seed=0) == draw("losses", 2, seed=0) != draw("losses", 2, seed=1)
    for room in [*rooms()][::3]:
        mutants = draw(room, 2, seed=0)
        assert len({(m.file, m.row, m.change) for m in mutants}) == 2
        for mutant in mutants:
            compile(mutant.source, mutant.file, "exec")
            assert mutant.before != mutant.after


def test_equivalent_mutants_have_a_file():
    files = {path.relative_to(ROOT.parent).as_posix() for path in FILES}
    for place, change in equivalents():
        assert place.partition(":")[0] in files
        assert " -> " in change
