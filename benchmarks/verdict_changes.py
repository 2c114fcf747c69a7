"""Claims that differ on purpose from those of a recorded version, which `equal_verdicts.py` reads: a reason each."""

# Claims of before to those of now, both as "study/id", the study as it was named before.
RENAMED: dict[str, str] = {
    "free-directions/accounted-deep": "free-directions/accounted",
    "free-directions/accounted-deep.corrected": "free-directions/accounted.corrected",
    "grokking-phases/better-than-kernel": "grokking-phases/better-than-others",
    "routing/half-times-whitened": "routing/half-times-digits",
    "routing/half-times-raw": "routing/half-times-digits",
    "pathway-race/loser-handicapped-of-start": "pathway-race/loser",
    "context/weights-per-context-samples": "context/weights-samples",
    "context/curve-per-context": "context/curves",
    "context/curve-per-context-samples": "context/curves-samples",
    "free-directions/sparse": "free-directions/enough.corrected",
}
# Claims that differ on purpose, with the reason; "study/*" stands for all of a study, in `DROPPED` too.
DIFFERS: dict[str, str] = {
    "grokking-phases/better-than-kernel": "merged with better-than-rate, -norm and -rqi: judged by the best predictor",
    "landscapes/*": "NUTS of the library in place of Metropolis walkers, and other points in the box",
    "free-directions/old-gates": "counts seeds in place of networks",
    "deep-linear-coefficients/*": "the library's Langevin steps with Metropolis in place of Hamiltonian paths",
    "degeneracy-over-training/rectified-measured": "SciPy's Levenberg-Marquardt ends at other minima",
    "degeneracy-over-training/rectified-warm": "SciPy's Levenberg-Marquardt ends at other minima",
    "free-directions/by-volume": "the library's sampler in place of Hamiltonian paths",
    "free-directions/enough": "judges the parameters left short of the rank, too",
    "free-directions/sparse": "stands as the corrected form of enough now; notes of both differ",
    "class-collapse/flow": "judges the change of Z, too",
    "class-collapse/frame": "judges the gap with repulsion over that without",
    **{
        f"context/{id}": "the larger deviation of both gatings, of a curve over what is allowed"
        for id in ("weights-samples", "curves", "curves-samples")
    },
    "pathway-race/ratio": "the larger deviation of modules with their own and with shared encoders, over what is allowed",
    "pathway-race/loser": "the larger deviation of both losers, over what is allowed",
    "image-routing/connected": "judges the rise from K = 1, of which disconnected spoke, to K = 2",
}
# Claims of before that were merged into another or deleted, with the reason.
DROPPED: dict[str, str] = {
    **{
        f"grokking-phases/better-than-{name}": "merged into better-than-others, judged by the best predictor"
        for name in ("rate", "norm", "rqi")
    },
    "grokking-phases/boundary-by-adam": "repeats boundary; adam-is-better compares Adam with the flow",
    "grokking-phases/seed-order": "tests a sign; better-than-others compares the same correlation",
    "grokking-phases/decoder-orders": "decoder-counts says it in steps",
    "degeneracy-over-training/synchronised": "synchronise says it at the moment of generalisation",
    "degeneracy-over-training/rank-falls": "judges blocks of neurons, too",
    "degeneracy-over-training/winner": "judges the deviation of both networks",
    "interaction-basis/identity": "judges edges, too",
    "interaction-basis/fewer-directions": "judges the largest ratio of three networks",
    "interaction-basis/fewer-edges": "judges the largest ratio of three networks",
}
# Claims of before that were merged into another or deleted, with the reason.
DROPPED: dict[str, str] = {
    "degeneracy-over-training/synchronised": "rank-falls says it at the moment of generalisation",
    "degeneracy-over-training/synchronise": "rank-falls judges the larger of both changes",
    "degeneracy-over-training/lower-then": "lower-together says it at the end",
    "degeneracy-over-training/rectified-warm": "rectified-measured says it without the factor ln n",
    "degeneracy-over-training/linear-not-loss": "cannot fail: the training loss of wider linear models is always lower",
    "initialization/between": "can never hold at its seeds",
    "image-routing/least-squares-loss": "cannot fail: the run is stopped at this excess",
    "image-routing/least-squares": "trained-high judges the worst cell against least squares",
    "image-routing/same-mask": "checks the code that draws masks, as initialization/same-mask does",
    "image-routing/truncation": "speaks of the images alone; no network could make it fail",
    "image-routing/waiting": "the slope of the times that as-one judges themselves, without a fit",
    "image-routing/disconnected": "connected judges the rise from K = 1 to K = 2",
    "pathway-race/ratio-limit": "the same limit extrapolated, within an interval that was chosen; `ratio` judges it",
    "pathway-race/ratio-shared-encoders": "`ratio` judges both networks",
    "pathway-race/loser-mixed": "`loser` judges it within a tenth of what is allowed, as it knows the start",
    "pathway-race/loser-handicapped": "`loser` judges it within a tenth of what is allowed, as it knows the start",
    "pathway-race/loser-mixed-of-start": "`loser` judges both duels",
    "image-routing/authors-trained": "authors judges the larger of both deviations",
    "image-routing/authors-untrained": "authors judges the larger of both deviations",
    "translation/stuck-for-good": "cannot fail: the bound that ends the runs says it",
    "translation/square-stuck": "determinants and wide-stuck say which runs get stuck",
    "connectivity/better-than-degrees": "never holds at its seeds; better-than-occurrence has the baseline",
    "connectivity/few-stuck": "stuck-rate and stuck-falls say how few",
    "rank-one/decay-balances": "follows from fixed-point",
    "optimizers/adamw-same-plateau.corrected": "complement of adamw-same-plateau",
    "optimizers/similar-speeds": "can never hold at its seeds; similar-times measures the same statement",
    "cross-entropy/decay-balances": "cannot fail: at a stationary point both terms cancel",
    "s-curves/cross-entropy-full-rank-curve": "cannot fail",
    "s-curves/low-rank-plateau.corrected": "complement of low-rank-plateau",
    "s-curves/large-logits-full-rank.corrected": "complement of large-logits-full-rank",
    "s-curves/rank-2-like-1.corrected": "complement of rank-2-like-1",
    "s-curves/symmetry-adds-s.corrected": "complement of symmetry-adds-s",
    "s-curves/softmax-alone.corrected": "complement of softmax-alone",
    "s-curves/adam-full-rank-plateau.corrected": "complement of adam-full-rank-plateau",
    "bumps/full-rank-no-contest": "cannot fail: at full rank nothing aligns for any network",
    "bumps/adam-more-bumps.corrected": "complement of adam-more-bumps",
    "bumps/counts-robust": "can never hold at its seeds",
    "bumps/bumps-need-competition.rank-10": "repeats competition-within",
    "bumps/which-target.corrected": "tests a sign, repeats which-target-start",
    "bumps/adam-more-bumps-reference.rank-2": "repeats adam-more-bumps-reference in another cell",
    "bumps/adam-more-bumps-reference": "adam-more-bumps at one of its rates",
    "bumps/adam-more-bumps.full-rank": "adam-full-rank-bumps.corrected says it",
    "bumps/adam-full-rank-plateau.small-start": "low-rank-needed.corrected says that small starts make the plateau",
    "bumps/adam-plateau-late": "bounds the plateaus of oscillating runs, of which no theory speaks",
    "bumps/adam-full-rank-bumps.fast": "the cells that adam-full-rank-bumps.corrected leaves out",
    "bumps/plateau-forms-bumps": "tests a sign; adam-full-rank-bumps judges the thread's sentence",
    "bumps/bumps-beyond-chance": "tests a sign; bumps-predicted asks for more than chance gives",
    "bumps/contest-beyond-chance": "tests a sign; competition-matched compares the same by matched pairs",
    "bumps/sharing-predicts-bumps": "competition-matched judges both directions",
    "bumps/bumps-need-competition": "competition-matched judges both directions",
    "bumps/bumps-need-competition.corrected": "competition-matched.corrected says by how much",
    "bumps/competition-within": "tests a sign of the effect that competition-makes-bumps judges at rank ten",
    "bumps/which-target": "follows from one-target.corrected: where a component ends is random",
    "bumps/which-target-start.corrected": "its complement under Adam, against chance",
    "modules/cancelling-rectified": "merged into entangled-networks/modular-is-lower.corrected, which judges the pair",
    **{
        f"modules/{id}": "in entangled-networks now, sampled by the library"
        for id in (
            *("one-function", "modular-is-lower", "modular-is-lower.corrected", "as-derived"),
            *("rotation", "cancelling", "within-as-across", "shared-once", "beyond-rank"),
            *("trained-apart", "trained-apart.corrected"),
        )
    },
    **{
        f"modules/sampled-{id}": "in interacting-modules now, sampled by the library"
        for id in (
            *("additive", "one-each", "constrained-sum", "constrained-sum.corrected"),
            *("linear-sum", "smooth-sum"),
        )
    },
    "interaction-basis/same-importances": "identity judges the larger of both gaps",
    "one-mode/half-time": "closed-form judges the same curve at all times",
    "free-directions/more-than-scales": "speaks of how networks are drawn; no theory could make it fail",
    "free-directions/better-than-share": "tests a sign",
    "free-directions/rise-size": "transfer-size says it without the cross terms, within 5% in place of a factor of 2",
    "trained-fraction/generalises-at-40%": "`threshold` says it, at every fraction",
    "class-collapse/conserved": "`flow` judges it",
    "class-collapse/no-frame": "`frame` judges the gap with repulsion over that without",
    "context/weights-always-on-samples": "weights-samples judges both gatings",
    "context/curve-always-on": "curves judges both gatings",
    "context/curve-always-on-samples": "curves-samples judges both gatings",
    "context/loss-always-on": "follows from weights-always-on, which says it",
    "context/loss-per-context": "follows from weights-per-context, which says it",
    "xor/relu-start-derived": "compares by a fit the two curves that `relu-unfitted` compares directly",
    "routing/more-paths-faster": "a weaker form of `ratio`, whose words now say it",
    "routing/orthogonal-start": "checks the code that draws the start, which its own tests do",
    "routing/shared-structure": "another entry of the same matrix as `shared.corrected`, at a fifth of its precision",
    "routing/split-alike": "the end of the curve whose height and clock `split-first` and `split-time` judge",
    "free-directions/needed": "enough judges the parameters left short of the rank, too",
    "free-directions/counted-is-free": "accounted and accounted.corrected fail on a direction too many, too",
    "free-directions/old-gates": "checks the code that sparsifies, which its own tests do",
    "free-directions/needed-at-scale": "a bound of the study itself, on the curve that enough-at-scale judges",
    "free-directions/edges-needed-at-scale": "a bound of the study itself, on the curve of enough-at-scale.corrected",
    "free-directions/weights-at-scale": "the figure shows it beside the edges that enough-at-scale.corrected judges",
    "free-directions/transfer-size": "rise-power judges the paper's statement; tests of synchronization hold the size",
    "free-directions/off-data": "follows from forgotten",
    "free-directions/fitted": "checks that a network was trained, which its test does",
    "degeneracy-over-training/fastest": "compares moments of one run, which the document does not",
    "degeneracy-over-training/fastest.corrected": "chosen after a look; fastest is gone",
    "degeneracy-over-training/similar-then": "no statement of the document; rank-falls judges what there is of structure",
    "degeneracy-over-training/separate-winner": "winner judges the deviation of both networks",
    "degeneracy-over-training/one-representation": "follows from the counts that winner judges",
    "degeneracy-over-training/linear-measured": "linear-closed-form and rectified-measured say it of both families",
    "degeneracy-over-training/rectified-not-loss": "no statement of the document; rectified-measured has the baseline",
    "interaction-basis/diagonal-edges": "identity judges the larger of all gaps",
    "interaction-basis/modular-directions": "fewer-directions judges the largest ratio of three networks",
    "interaction-basis/modular-edges": "fewer-edges judges the largest ratio of three networks",
    "interaction-basis/transformer-directions": "fewer-directions judges the largest ratio of three networks",
    "interaction-basis/transformer-edges": "fewer-edges judges the largest ratio of three networks",
    "interaction-basis/joined-blocks": "an edge is a mean square by definition, so that its power in a weight is two",
    "interaction-basis/edges-within-frequencies": "frequencies-at-the-end and modules-are-frequencies say it of both ends",
}
# Parameters of before, as "study/parameter", to those of now.
RENAMED_PARAMETERS: dict[str, str] = {}
# Variables of runs and theory of before, as "study/variable", to those of now.
RENAMED_VARIABLES: dict[str, str] = {}
# Presets of before to the study that holds their claims now, where it has another name.
STUDIES: dict[str, str] = {
    "modules": "planted-modules",
}
