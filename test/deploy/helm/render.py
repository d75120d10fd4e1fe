"""Lints and renders a chart with values, as `helm lint --strict` and `helm template` do, and holds each object to its
schema: render.py CHART, with the values of all cases as a JSON object on standard input, by name. Prints by name what
came of each: `fault`, or `objects`, `notes`, and what is wrong with them: `lint` and `invalid`."""

import json
import re
import sys

import helm_python
import kubernetes_validate
import yaml
from cloudcoil.models.cert_manager import v1 as cert_manager
from cloudcoil.models.prometheus_operator import v1 as prometheus_operator

# The oldest version that Chart.yaml allows, and the newest one whose schemas are there.
KUBERNETES = ("1.30", "1.37")
MODELS = {"cert-manager.io/v1": cert_manager, "monitoring.coreos.com/v1": prometheus_operator}
WARNING = 2
# Among the values of a case: the name of its release.
RELEASE = "(release)"


def without_nulls(value):
    """The API server takes a field that is null for a field that is not there."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_nulls(inner) for inner in value]
    return value


def unknown_fields(given, known, path=""):
    """The fields of `given` that the model, which ignores what it does not know, has left out of `known`."""
    if isinstance(given, dict):
        for key, inner in given.items():
            if key not in known:
                yield f"{path}.{key} is not a field"
            else:
                yield from unknown_fields(inner, known[key], f"{path}.{key}")
    elif isinstance(given, list):
        for index, inner in enumerate(given):
            yield from unknown_fields(inner, known[index], f"{path}[{index}]")


def faults_of(thing):
    kind = thing["kind"]
    model = MODELS.get(thing["apiVersion"])
    if model is None:
        for version in KUBERNETES:
            try:
                kubernetes_validate.validate(thing, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                yield f"{kind}, Kubernetes {version}: {error.message}"
        return
    try:
        read = getattr(model, kind).model_validate(thing)
    except ValueError as error:
        yield f"{kind}: {error}"
        return
    known = read.model_dump(mode="json", by_alias=True, exclude_unset=True)
    yield from (f"{kind}{fault}" for fault in unknown_fields(thing, known))


def rendered(path, chart, values):
    try:
        files = chart.render(values, name=values.pop(RELEASE, "locks"), namespace="prod")
    except (helm_python.HelmRenderError, helm_python.HelmValuesError) as error:
        return {"fault": str(error)}
    report = helm_python.lint(path, values, strict=True, namespace="prod")
    notes = next(text for name, text in files.items() if name.endswith("NOTES.txt"))
    texts = [text for name, text in files.items() if name.endswith(".yaml")]
    objects = [without_nulls(thing) for text in texts for thing in yaml.safe_load_all(text) if thing]
    return {
        "objects": objects,
        "notes": notes,
        "lint": [found["error"] for found in report["messages"] if found["severity"] >= WARNING],
        "invalid": [fault for thing in objects for fault in faults_of(thing)]
        + [f"white space at the end of {line!r}" for text in texts for line in re.findall(r"\S[ \t]+\n", text)],
    }


path = sys.argv[1]
cases = json.load(sys.stdin)
with helm_python.Chart.load(path) as chart:
    json.dump({name: rendered(path, chart, values) for name, values in cases.items()}, sys.stdout)
