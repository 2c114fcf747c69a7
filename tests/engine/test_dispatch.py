from dataclasses import replace

from toy_study import Parameters

from foretrain.engine.dispatch import Group, Worker, make_groups, next_group, recall, share
from foretrain.plans.parameters import static_signature
from foretrain.plans.plan import Run
from foretrain.streams import Seed


def run(number, **parameters):
    return Run(f"{number:032x}", replace(Parameters(), **parameters), Seed(0, number))


def group_of(count, lanes=4):
    (group,) = make_groups([run(n, longest=100 + n) for n in range(count)], lambda p: p.longest)
    group.lanes = lanes
    return group


def deal_all(group, workers):
    """Deal until nobody takes anything; returns what each worker was given, in order."""
    options = [[] for _ in workers]
    moved = True
    while moved:
        moved = False
        for worker, mine in zip(workers, options, strict=True):
            taken = share(group, worker, workers)
            worker.queued.update(taken)
            mine += taken
            moved = moved or bool(taken)
    return options


def test_runs_are_grouped_by_what_is_static_only():
    runs = [
        run(0, width=3, learning_rate=0.1),
        run(1, width=5),
        run(2, width=3, learning_rate=0.2),
        run(3, width=3, precision="float64"),
    ]
    groups = make_groups(runs, lambda parameters: 10.0)
    stored = {group.name: sorted(group.waiting) for group in groups}
    assert stored == {"width=3": [0, 2], "width=5": [1], "width=3, precision=float64": [3]}
    for group in groups:
        for number in group.waiting:
            assert static_signature(runs[number].parameters) == static_signature(group.parameters)
    # The group with most predicted work comes first.
    assert (groups[0].name, groups[0].steps, groups[0].count) == ("width=3", 20.0, 2)


def test_the_longest_runs_come_first_and_each_run_is_given_once():
    group = group_of(300)
    workers = [Worker(None, group=group) for _ in range(2)]
    first = share(group, workers[0], workers)
    assert first == sorted(first, reverse=True)
    assert first[0] == 299
    workers[0].queued.update(first)
    options = [*first, *(number for mine in deal_all(group, workers) for number in mine)]
    # What is held stays bounded while runs wait, and none is given twice.
    assert len(options) == len(set(options)) < 300
    while group.waiting:
        for worker in workers:
            worker.queued.clear()  # all it had is done
        options += [number for mine in deal_all(group, workers) for number in mine]
    assert sorted(options) == list(range(300))


def test_few_runs_are_shared_evenly_and_long_ones_too():
    group = group_of(10, lanes=16)
    ours, theirs = deal_all(group, [Worker(None, group=group) for _ in range(2)])
    assert len(ours) == len(theirs) == 5
    # Predicted lengths are 100 + number: the halves differ by less than one run.
    assert abs(sum(ours) - sum(theirs)) < 10


def test_a_free_worker_goes_where_nobody_is_then_where_most_is_left():
    item, two = group_of(5), group_of(9)
    busy = Worker(None, group=two, queued={0})
    assert next_group([two, item], [busy]) is item
    assert next_group([two, item], [busy, Worker(None, group=item, queued={1})]) is two
    assert next_group([Group(Parameters(), "empty")], []) is None
    assert next_group([two], [Worker(None, group=two, sample=0)]) is None  # it measures the lanes
    assert next_group([two], [Worker(None, group=two)]) is two


def test_runs_of_a_dead_worker_are_redone_then_set_apart_then_failed():
    group, deaths = group_of(6), {}
    group.waiting.clear()
    assert recall(Worker(None, group=group, queued={5}, entered={1, 2}, left={3}), deaths) == []
    assert sorted(group.waiting) == [1, 2, 3, 5]

    group.waiting.clear()
    assert recall(Worker(None, group=group, entered={1}, queued={2}), deaths) == []
    assert (list(group.suspects), list(group.waiting)) == ([1], [2])

    # A suspect goes to an idle worker, alone.
    group.waiting.clear()
    busy, idle = Worker(None, group=group, entered={4}), Worker(None, group=group)
    assert share(group, busy, [busy, idle]) == []
    assert share(group, idle, [busy, idle]) == [1]
    assert idle.alone
    group.waiting.append(0)
    assert share(group, idle, [busy, idle]) == []
    assert recall(Worker(None, group=group, entered={1}, alone=True), deaths) == [1]
    # What it made durable is not redone.
    group.waiting.clear()
    assert recall(Worker(None, group=group, entered={0}, left={1, 2}), {}, {1}) == []
    assert sorted(group.waiting) == [0, 2]
