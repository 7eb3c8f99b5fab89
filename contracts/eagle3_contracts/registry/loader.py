"""The ``loader.*`` clauses: what reaches fc, the embedding and the loss of a training script at step zero."""

from eagle3_contracts.findings import Level
from eagle3_contracts.registry.clause import Clause

LOADER = (
    Clause(
        "loader.runs",
        Level.MUST,
        "The loader reads a sound dataset of its own format and gives step zero.",
        "speculators 0.5: the default split ratio leaves an attribute unset, and the first sample raises.",
    ),
    Clause(
        "loader.fc-input",
        Level.MUST,
        "The declared planes reach fc, in the declared order.",
        "The story: standardize_data_v1 feeds all planes but the last, cat(embed, low, mid), and the server others.",
    ),
    Clause(
        "loader.row-identity",
        Level.MUST,
        "All planes of a row are of one sample and one token.",
        "SpecForge PR #448: states moved against one another by one token, with shapes that fit.",
    ),
    Clause(
        "loader.last-hidden",
        Level.MUST,
        "Training targets are computed from the declared plane.",
        "speculators issue #705: the last plane is taken for the final state, whether it is or not.",
    ),
    Clause(
        "loader.token-shift",
        Level.MUST,
        "The token beside state t is one that the contract's alignment accepts.",
        "OfflineEagle3Dataset shifts in SpecForge 0.1.0 and does not in 0.2.0: the shift is missing, or made twice.",
    ),
    Clause(
        "loader.target-shift",
        Level.MUST,
        "The final state beside state t is one that the contract's alignment accepts.",
        "OfflineEagle3Dataset shifts in SpecForge 0.1.0 and does not in 0.2.0: the shift is missing, or made twice.",
    ),
    Clause(
        "loader.mask-shift",
        Level.MUST,
        "The loss mask of row t is one that the contract's alignment accepts.",
        "SpecForge issue #885: mask and tokens out of step by one; tools mask by l[t] or l[t+1], none by l[t+2].",
    ),
    Clause(
        "loader.position-shift",
        Level.MUST,
        "The rotary position of row t counts from its own document, as the contract's alignment accepts.",
        "speculators counts a packed document from 1 and SpecForge from 0; positions that run on do harm.",
    ),
    Clause(
        "loader.packing",
        Level.MUST,
        "Every document is one sample, whole and in order.",
        "speculators packs samples into one sequence, and only document ids keep them apart.",
    ),
    Clause(
        "loader.padding",
        Level.MUST,
        "No row is trained that is padding, or has no token or final state beside it.",
        "SpecForge sets the last entry of every mask to zero, since its shift leaves zeros there.",
    ),
    Clause(
        "loader.truncation",
        Level.MUST,
        "A sample that is too long is cut at one token in all of its parts, or left out with a word.",
        "NVIDIA/Model-Optimizer PR #300: tokens and states cut at different lengths.",
    ),
    Clause(
        "loader.coverage",
        Level.SHOULD,
        "Every sample of a sound dataset reaches training once.",
        "SpecForge's loaders drop an incomplete last batch (drop_last).",
    ),
    Clause(
        "loader.dtype",
        Level.MUST,
        "States arrive in a dtype that holds what is stored.",
        "vLLM issue #55250: a cast to float16 overflows; loaders cast in silence.",
    ),
    Clause(
        "loader.values",
        Level.MUST,
        "States arrive as they are stored, neither scaled nor normed.",
        "hs-connectors FP8 files read by the plain file transfer come out off by a factor, another for each row, "
        "without a word.",
    ),
    Clause(
        "loader.nonfinite",
        Level.MUST,
        "A sample with NaN or infinite states is refused, or left out with a word.",
        "SpecForge issue #104; speculators checks only what it generates, and not what it reads from disk.",
    ),
    Clause(
        "loader.row-count",
        Level.MUST,
        "A sample with a row of states too few or too many is refused, or left out with a word.",
        "speculators 0.4 to 0.9 and SpecForge 0.2 take such a sample in silence; the latter fills it up with zeros.",
    ),
    Clause(
        "loader.neighbours",
        Level.MUST,
        "A sample that is too short or too long never changes the rows of its neighbours.",
        "speculators 0.4 to 0.9: a sample one row short shifts every sample packed after it by one.",
    ),
    Clause(
        "loader.stored-tokens",
        Level.MUST,
        "A sample whose states belong to other token ids is refused, or left out with a word.",
        "speculators 0.9 compares the ids beside the states with those of the dataset; 0.4 has nothing to compare.",
    ),
    Clause(
        "loader.unreadable",
        Level.MUST,
        "A file that cannot be read, or is not there, is refused, or left out with a word, and replaced by nothing.",
        "SpecForge 0.2.0: OfflineEagle3Dataset prints an error and gives sample 0 in the place of a corrupt file.",
    ),
    Clause(
        "loader.read-only",
        Level.MUST,
        "Loading changes nothing on disk.",
        "SpecForge 0.2.0 writes a zero into the loss mask of a mapped file; only the mapping's mode keeps it off disk.",
    ),
    Clause(
        "loader.draft-vocabulary",
        Level.MUST,
        "No row is trained towards a token outside the draft vocabulary.",
        "EAGLE and SpecForge mask such rows by t2d; speculators renormalises over the draft vocabulary instead.",
    ),
)
