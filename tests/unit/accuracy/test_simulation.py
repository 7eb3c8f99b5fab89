"""The offline simulation is what real speculative decoding does, round by round, on text that the target wrote."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from eagle3_contracts.accuracy import Passage, passage_from_states, simulate_chain, simulate_tree
from eagle3_contracts.accuracy.simulation import draft_chains, grow_trees
from eagle3_contracts.contract import Contract
from eagle3_contracts.drafter import DraftSession, ReferenceDrafter
from eagle3_contracts.subjects.targets import Target

START = 3


def decode(contract: Contract, target: Target, drafter: ReferenceDrafter, passage: Passage, steps: int) -> list[int]:
    """Decode with a draft session and the target as judge, from the passage's first tokens; give accepted counts."""
    count = len(passage.tokens)
    tokens = passage.tokens[: START + 2].tolist()
    session, fed, accepted = DraftSession(drafter), 0, []
    while len(tokens) + steps <= count:
        known = passage_from_states(contract, target.reference(tokens[:-1]))
        with torch.inference_mode():
            session.extend(known.fc_input[fed:], torch.tensor(tokens[fed + 1 :]))
            fed = len(tokens) - 1
            drafted = session.draft(steps).tokens.tolist()
        judged = target.reference([*tokens, *drafted]).logits.argmax(axis=-1)[len(tokens) - 1 :]
        agreed = int(np.cumprod(judged[:-1] == np.asarray(drafted)).sum())
        accepted.append(agreed)
        tokens += [*drafted[:agreed], int(judged[agreed])]
    return accepted


@pytest.mark.parametrize("steps", [1, 3])
def test_it_is_real_decoding_round_by_round(
    contract: Contract, target: Target, drafter: ReferenceDrafter, written: list[Passage], steps: int
) -> None:
    for passage in written:
        real = decode(contract, target, drafter, passage, steps)
        simulated = simulate_chain(drafter, [passage], steps, START)
        assert simulated.greedy_share == 1.0
        assert [real.count(number) for number in range(steps + 1)] == list(simulated.accepted)
        assert simulated.length == pytest.approx(1 + sum(real) / len(real))


def test_chains_of_all_rows_are_those_of_sessions(drafter: ReferenceDrafter, written: list[Passage]) -> None:
    passage = written[0]
    drafted = draft_chains(drafter, passage, 4)
    for row in (0, 5, 17, len(passage.tokens) - 2):
        session = DraftSession(drafter)
        with torch.inference_mode():
            session.extend(passage.fc_input[: row + 1], passage.tokens[1 : row + 2])
            assert session.draft(4).tokens.tolist() == drafted[row].tolist()


def test_one_drafted_token_is_accepted_as_often_as_step_0_is_right(
    drafter: ReferenceDrafter, written: list[Passage]
) -> None:
    """One round starts at each row that the last one left; over all rows the share is the accuracy of step 0."""
    for passage in written:
        rows = len(passage.tokens) - 2
        right = draft_chains(drafter, passage, 1)[:rows, 0] == passage.tokens[2:]
        at, accepted = 0, [0, 0]
        while at < rows:
            accepted[int(right[at])] += 1
            at += 1 + int(right[at])
        assert simulate_chain(drafter, [passage], 1).accepted == tuple(accepted)


def test_a_tree_of_one_branch_is_the_chain(drafter: ReferenceDrafter, written: list[Passage]) -> None:
    chain = simulate_chain(drafter, written, 3)
    assert simulate_tree(drafter, written, steps=3, topk=1, draft_tokens=4) == chain
    assert simulate_tree(drafter, written, steps=3, topk=1, draft_tokens=16) == chain


def test_a_tree_grows_by_joint_probability_and_never_accepts_less_with_more_tokens(
    drafter: ReferenceDrafter, written: list[Passage]
) -> None:
    passage, topk, steps = written[1], 3, 3
    tree = grow_trees(drafter, passage, steps, topk)
    rows, nodes = tree.tokens.shape
    assert (rows, nodes) == (len(passage.tokens) - 1, topk + (steps - 1) * topk * topk)
    parents, joint = tree.parents[7].tolist(), tree.joint[7].tolist()
    assert all(parent < 0 or joint[node] <= joint[parent] for node, parent in enumerate(parents))
    lengths = [simulate_tree(drafter, written, steps=steps, topk=topk, draft_tokens=n).length for n in (2, 4, 8, 22)]
    assert lengths == sorted(lengths)
    assert lengths[-1] >= simulate_chain(drafter, written, steps).length


def test_the_second_level_of_a_tree_is_what_the_drafter_says_after_each_first_token(
    drafter: ReferenceDrafter, written: list[Passage]
) -> None:
    passage, row, topk = written[0], 9, 2
    tree = grow_trees(drafter, passage, 2, topk)
    session = DraftSession(drafter)
    with torch.inference_mode():
        session.extend(passage.fc_input[: row + 1], passage.tokens[1 : row + 2])
        for first in range(topk):
            forced = int(tree.tokens[row, first])
            logits = session.draft(2, forced=[forced]).logits
            scores, best = logits[1].log_softmax(-1).topk(topk)
            children = [node for node, parent in enumerate(tree.parents[row].tolist()) if parent == first]
            assert tree.tokens[row, children].tolist() == drafter.target_ids()[best].tolist()
            torch.testing.assert_close(tree.joint[row, children], tree.joint[row, first] + scores, atol=1e-5, rtol=0)


def test_a_third_level_grows_on_the_best_nodes_of_the_second(drafter: ReferenceDrafter, written: list[Passage]) -> None:
    passage, topk = written[0], 2
    tree = grow_trees(drafter, passage, 3, topk)
    with torch.inference_mode():
        for row in (4, 9, 20):
            session = DraftSession(drafter)
            session.extend(passage.fc_input[: row + 1], passage.tokens[1 : row + 2])
            second = range(topk, topk + topk * topk)
            best = sorted(second, key=lambda node: -float(tree.joint[row, node]))[:topk]
            grown = sorted({int(parent) for parent in tree.parents[row, topk + topk * topk :]})
            assert grown == sorted(best)
            for node in best:
                path = [int(tree.tokens[row, int(tree.parents[row, node])]), int(tree.tokens[row, node])]
                scores, drafted = session.draft(3, forced=path).logits[2].log_softmax(-1).topk(topk)
                children = [at for at, parent in enumerate(tree.parents[row].tolist()) if parent == node]
                assert tree.tokens[row, children].tolist() == drafter.target_ids()[drafted].tolist()
                torch.testing.assert_close(tree.joint[row, children], tree.joint[row, node] + scores, atol=1e-5, rtol=0)


def test_text_that_the_target_did_not_write_is_said_to_be_so(
    drafter: ReferenceDrafter, contract: Contract, target: Target
) -> None:
    passage = passage_from_states(contract, target.reference([0, 5, 9, 77, 3, 200, 14, 9, 9, 8, 120, 33]))
    share = simulate_chain(drafter, [passage], 2).greedy_share
    assert share is not None
    assert share < 0.5
    blind = Passage(passage.tokens, passage.fc_input)
    assert simulate_chain(drafter, [blind], 2).greedy_share is None


def test_no_round_is_an_error(drafter: ReferenceDrafter, written: list[Passage]) -> None:
    short = Passage(written[0].tokens[:4], written[0].fc_input[:4])
    with pytest.raises(ValueError, match="no passage is long enough"):
        simulate_chain(drafter, [short], 5)
