"""A learning run whose games are played by many machines, which share a folder or an object store.

    from fukayomi.loop import build_settings, learn
    learn(build_settings({"preset": "fleet", "fleet": {"store": "s3://bucket/run"}}), "run")

The learner publishes a task (`task`), workers play it and deliver chunks (`worker`, `session`), the learner collects
them (`collector`, `generator`); `ray_fleet` starts the workers on a Ray cluster. `docs/fleet.md` is the page for users.
"""
