"""What outsiders must expect of a plan: groups left out by deletion."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.evaluate.align import align
from cranfield.pool.plan import full_depth, parse
from cranfield.qrels.qrels import qrels_of
from cranfield.reuse.hold_out import hold_out_all
from cranfield.reuse.provenance import Contributor, provenance_of
from cranfield.simulate.study import Known, play, study


def left_out(known, plan, measures):
    """The slow and obvious way: play the plan without each group, and score its runs by what was judged then."""
    full = known.scores(play(known, plan).kept(known), measures)
    values = full.values.copy()
    for team in known.pooled.teams:
        runs = tuple(run for run in known.pooled.runs if run.team != team)
        others = replace(known, pooled=replace(known.pooled, runs=runs))
        kept = play(others, plan.within(others.pooled.depth)).kept(known) if others.topics else known.judged & False
        mine = [full.run_names.index(run.name) for run in known.pooled.runs if run.team == team]
        values[:, mine] = known.scores(kept, measures, np.array(mine)).values
    held_out = replace(full, values=values).summary
    return held_out[:, [full.run_names.index(run.name) for run in known.pooled.runs]]


@given(data=st.data(), depth=st.integers(1, 3))
def test_for_depth_taking_away_what_a_group_alone_brought_is_playing_without_it(toolbox, data, depth):
    lists, grades = data.draw(toolbox.fields())
    groups = {name: f"g{place // 2}" if place > 1 else name for place, name in enumerate(lists)}
    known = toolbox.field(lists, grades, groups)
    depth = min(depth, known.pooled.depth)
    measures = toolbox.measures("AP", "P@2")
    (found,) = study(known, [parse(f"depth {depth}")], measures)
    if len(set(groups.values())) < 3:
        assert found.held_out is None
        return
    again = left_out(known, parse(f"depth {depth}"), measures)
    assert np.array_equal(found.held_out.held_out, again)


@pytest.mark.parametrize("plan", ["rrf 2", "depth 1; mtf until 3", "take 2", "depth 2; cap 2"])
def test_of_other_plans_no_loss_is_told(worked, toolbox, plan):
    (found,) = study(worked, [parse(plan)], toolbox.measures("AP"))
    assert found.held_out is None


def test_nor_at_budgets(worked, toolbox):
    found = study(worked, [parse("depth 1")], toolbox.measures("AP"), budgets=(6, 7))
    assert [one.held_out for one in found] == [None, None]


def test_the_loss_is_that_of_reuse_where_the_qrels_are_the_pool(toolbox):
    """The plan that made the pool loses what `reuse` says the pool's contributors lose."""
    everything = {topic: dict.fromkeys("abcdefghx", 1) for topic in ("1", "2")}
    pooled = play(toolbox.field(toolbox.worked, everything), parse("depth 2"))
    known = toolbox.field(toolbox.worked, everything, toolbox.groups)
    rows = list(known.qrels)
    judged = [(rows[row][0], rows[row][1], int(rows[row][1] in "acdeg")) for row in pooled.row.tolist()]
    qrels = qrels_of(judged)
    again = Known(qrels, known.runs, known.pooled, align(qrels, known.runs, keep_rows=True))
    measures = toolbox.measures("AP", "P@2")
    (found,) = study(again, [parse("depth 2")], measures)
    contributors = [Contributor(run.name, run.team) for run in again.pooled.runs]
    provenance = provenance_of(again.alignment, again.qrels, again.runs, contributors, depth=2)
    theirs = hold_out_all(again.alignment, provenance, measures).own
    assert np.array_equal(found.held_out.relative, theirs.relative, equal_nan=True)


def test_a_group_with_the_only_long_lists_can_be_left_out(toolbox):
    lists = {"A": {"1": list("abcdef")}, "B": {"1": ["b", "a"]}, "C": {"1": ["c"]}}
    known = toolbox.field(lists, {"1": dict.fromkeys("ace", 1) | dict.fromkeys("bdf", 0)}, toolbox.groups)
    (found,) = study(known, [parse("depth 5")], toolbox.measures("AP"))
    assert found.held_out.run_names == ("A", "B", "C")


def test_fewer_than_three_groups_tell_nothing(toolbox):
    known = toolbox.field(toolbox.worked, toolbox.grades, {"A": "one", "B": "one", "C": "two"})
    (found,) = study(known, [parse("depth 1")], toolbox.measures("AP"))
    assert found.held_out is None


def test_nothing_is_left_out_where_nobody_asked(worked, toolbox):
    (found,) = study(worked, [parse("depth 1")], toolbox.measures("AP"), hold_out=False)
    assert found.held_out is None


def test_pieces_are_counted_as_they_are_done(worked, toolbox):
    plans, seen = [parse("rrf 2"), parse("mtf until 3")], []
    list(study(worked, plans, toolbox.measures("AP"), progress=lambda *done: seen.append(done)))
    assert seen == [(done, 4) for done in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("plan", "depth"),
    [("depth 7", 7), ("depth 7 by=group", 0), ("depth topics=1:3 7", 0), ("depth 7; cap 3", 0), ("rrf 7", 0)],
)
def test_a_plain_depth_is_nothing_but_depth(plan, depth):
    assert full_depth(str(parse(plan)), alone=True) == depth
