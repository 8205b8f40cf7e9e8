"""`adjoint bench`: numbers, in their units."""

import json


def test_every_measurement_is_a_positive_number(adjoint_command, monkeypatch):
    monkeypatch.setattr("adjoint.cli.bench._SIDE", 64)
    monkeypatch.setattr("adjoint.cli.bench._LONG", 1 << 12)
    code, out, _ = adjoint_command("bench", "--json", "--seconds", "0.001")
    data = json.loads(out)
    assert code == 0
    assert {"version", "device", "threads", "vector_bits"} < set(data)
    assert [r["unit"] for r in data["results"]] == ["GFLOP/s", "GB/s", "µs", "µs", "µs", "ms"]
    assert all(row["value"] > 0 for row in data["results"])


def test_only_what_was_asked_for_is_measured(adjoint_command):
    code, out, _ = adjoint_command("bench", "--only", "realize,jit", "--seconds", "0.001")
    assert code == 0
    assert len(out.splitlines()) == 2
    assert all(line.endswith(" µs") for line in out.splitlines())
