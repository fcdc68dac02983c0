"""One value in a YAML text, found by its place and replaced: every other byte stays. No I/O."""

from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from workers.base import Permanent


@dataclass(frozen=True)
class Spot:
    """Where the version stands. `head` is the part of the value before it: an image's name with its colon."""

    start: int
    end: int
    value: str
    quote: str
    head: str

    @property
    def version(self) -> str:
        return self.value.removeprefix(self.head)


def find(text: str, *, path: str, image: str, file: str) -> Spot:
    """The one place of it; a sentence when there is none, or more than one."""
    try:
        roots = [root for root in yaml.compose_all(text, yaml.SafeLoader) if root is not None]
    except yaml.YAMLError as error:
        raise Permanent(
            f"{file} is no YAML that can be read: {_first_line(error)}. Nothing was changed."
        ) from None
    what = f"'{path}'" if path else f"an image '{image}' with a newTag"
    nodes = [node for root in roots for node in (_at(root, path.split(".")) if path else _tags(root, image))]
    scalars = [node for node in nodes if isinstance(node, yaml.ScalarNode)]
    if len(scalars) != 1:
        many = "no" if not scalars else "more than one"
        raise Permanent(f"{file} has {many} {what}. Nothing was changed.")
    return _spot(text, scalars[0], image, file)


def replaced(text: str, spot: Spot, version: str) -> str:
    """The same text with another version there, quoted where it would not be read as a text."""
    value = spot.head + version
    plain = not spot.quote and isinstance(yaml.safe_load(value), str)
    written = value if plain else f"{spot.quote or chr(34)}{value}{spot.quote or chr(34)}"
    return text[: spot.start] + written + text[spot.end :]


def _spot(text: str, node: yaml.ScalarNode, image: str, file: str) -> Spot:
    start, end = node.start_mark.index, node.end_mark.index
    quote = text[start] if text[start] in "\"'" else ""
    value = str(node.value)
    if node.style in ("|", ">") or text[start] in "&!*" or not value.isprintable():
        raise Permanent(f"{file} writes the version in a way that is not edited here. Nothing was changed.")
    name, colon, _ = value.rpartition(":")
    head = f"{name}{colon}" if "/" in name or (image and name == image) else ""
    if image and head and name != image:
        raise Permanent(
            f"{file} names the image {name} there, while signoff.toml says {image}. Nothing was changed."
        )
    return Spot(start, end, value, quote, head)


def _at(node: yaml.Node, keys: list[str]) -> Iterator[yaml.Node]:
    """What stands at a path such as `spec.template.spec.containers.0.image`."""
    if not keys:
        yield node
    elif isinstance(node, yaml.MappingNode):
        for name, inner in node.value:
            if isinstance(name, yaml.ScalarNode) and name.value == keys[0]:
                yield from _at(inner, keys[1:])
    elif isinstance(node, yaml.SequenceNode) and keys[0].isdigit() and int(keys[0]) < len(node.value):
        yield from _at(node.value[int(keys[0])], keys[1:])


def _tags(root: yaml.Node, image: str) -> Iterator[yaml.Node]:
    """`newTag` of each entry of `images` with that name."""
    for images in _at(root, ["images"]):
        for entry in images.value if isinstance(images, yaml.SequenceNode) else ():
            names = [node.value for node in _at(entry, ["name"]) if isinstance(node, yaml.ScalarNode)]
            if names == [image]:
                yield from _at(entry, ["newTag"])


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
