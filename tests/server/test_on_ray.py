"""What of Ray Serve can be tried without a cluster; tests/test_many_machines.py has one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from turia.errors import ConfigError, InputError
from turia.policy.waitk import WaitK
from turia.schema import from_dict

pytest.importorskip("ray", reason="the ray extra is not installed")
EXAMPLE = Path(__file__).parents[2] / "examples" / "serve.yaml"


def context(streams: dict[Any, float], capacity: dict[Any, float]) -> Any:
    from ray.serve._private.common import DeploymentID
    from ray.serve.config import AutoscalingContext

    return AutoscalingContext(
        deployment_id=DeploymentID("replica", "turia"),
        deployment_name="replica",
        app_name="turia",
        current_num_replicas=len(capacity),
        target_num_replicas=3,
        running_replicas=list(capacity),
        total_num_requests=1000,
        total_queued_requests=0,
        aggregated_metrics={"streams": streams, "capacity": capacity} if capacity else {},
        raw_metrics=None,
        capacity_adjusted_min_replicas=1,
        capacity_adjusted_max_replicas=10,
        policy_state={},
        last_scale_up_time=None,
        last_scale_down_time=None,
        current_time=0.0,
        config=None,
    )


@pytest.mark.parametrize(("streams", "replicas"), [(0, 1), (1, 1), (7, 1), (8, 2), (14, 2), (15, 3), (700, 100)])
def test_replicas_are_wanted_by_open_streams(streams: int, replicas: int) -> None:
    from turia.server.on_ray import replicas_for, wanted_replicas

    assert replicas_for(streams, capacity=10) == replicas
    # A thousand viewers are no reason for another replica.
    assert wanted_replicas(context({"a": streams - streams // 2, "b": streams // 2}, {"a": 10, "b": 10}))[0] == replicas


def test_without_news_the_number_of_replicas_stays() -> None:
    from turia.server.on_ray import wanted_replicas

    assert wanted_replicas(context({}, {}))[0] == 3


def test_connections_are_allowed_by_the_capacity_of_a_replica() -> None:
    from turia.server.on_ray import Deployed

    limits = Deployed("redis://", streams=12, audience=9).all_limits()
    assert (limits.streams, limits.streams_per_key, limits.sockets) == (12, 12, 120)


def test_the_example_is_what_build_reads() -> None:
    import yaml

    from turia.server.on_ray import Deployed, build

    (app,) = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))["applications"]
    assert app["import_path"] == "turia.server.on_ray:build"
    deployed = from_dict(Deployed, app["args"])
    assert (deployed.streams, deployed.least, deployed.most) == (6, 2, 16)
    assert build(app["args"]) is not None
    with pytest.raises(ConfigError, match="did you mean 'streams'"):
        build(app["args"] | {"stream": 3})


def test_a_public_address_needs_keys() -> None:
    from turia.server.on_ray import Deployed, serve_on_ray
    from turia.server.serve import refuse_strangers

    with pytest.raises(InputError, match="--key-file"):
        serve_on_ray(Deployed("redis://127.0.0.1:1/0"), "0.0.0.0", 0)
    with pytest.raises(InputError, match=r"::.*--key-file.*, or restart it"):
        refuse_strangers("::", keyed=False, otherwise="or restart it")
    refuse_strangers("0.0.0.0", keyed=True, otherwise="")
    refuse_strangers("127.0.0.1", keyed=False, otherwise="")


def test_what_is_deployed_has_keys_or_says_that_it_has_none() -> None:
    from turia.server.on_ray import build

    args = {"store": "redis://redis.example.org:6379/0"}
    with pytest.raises(ConfigError, match=r"key_file.*without_keys: true"):
        build(args)
    with pytest.raises(ConfigError, match="key_file"):
        build(args | {"without_keys": False})
    assert build(args | {"without_keys": True}) is not None
    assert build(args | {"key_file": "keys"}) is not None
    for wrong in (
        {"beam": 0}, {"history": -5}, {"origins": ["a.org"]}, {"streams": 0}, {"most": 0}, {"limits": {"streams": 40}}
    ):  # fmt: skip
        with pytest.raises(InputError, match=f"{next(iter(wrong)).rstrip('s')}"):
            build(args | {"without_keys": True} | wrong)


def test_replicas_load_models_with_the_search_and_history_of_the_deployment(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="the train extra, which writes models, is not installed")
    from turia.export.random_model import write_random_folder
    from turia.server.on_ray import Deployed, load_models

    write_random_folder(tmp_path, "tiny", "int8", ("de", "en"), vocabulary=500)
    deployed = Deployed("redis://127.0.0.1", (str(tmp_path),), 1, history=7, beam=3)
    settings = load_models(deployed)["de-en"].stream(policy=WaitK(1), punctuation=True).settings
    assert (settings.history, settings.beam) == (7, 3)


def test_the_benchmark_takes_a_model_by_its_name_or_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.scaling import model_folder
    from turia.runtime.home import packaged_models

    monkeypatch.chdir(tmp_path)
    (tmp_path / "own").mkdir()
    assert model_folder("own") == str(tmp_path / "own")
    for name in packaged_models():
        assert (Path(model_folder(name)) / "config.json").is_file()
