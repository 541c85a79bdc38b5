"""A check of documents by the part of JSON Schema that the package uses."""

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}
NOTES = {"$schema", "$defs", "title", "description"}
KEYWORDS = {"type", "properties", "required", "additionalProperties", "items"}
KEYWORDS |= {"enum", "const", "anyOf", "$ref"}


def is_of_type(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def faults(value, schema, root=None, place="$"):
    """Return what of a document breaks a schema."""
    root = schema if root is None else root
    assert schema.keys() <= KEYWORDS | NOTES, schema.keys()
    if "$ref" in schema:
        return faults(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, place)
    if "anyOf" in schema:
        every = [faults(value, option, root, place) for option in schema["anyOf"]]
        return [] if [] in every else min(every, key=len)
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_of_type(value, name) for name in types):
        return [f"{place} is {value!r}"]
    if "const" in schema and value != schema["const"]:
        return [f"{place} is {value!r}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{place} is {value!r}"]
    out = []
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        out += [f"{place} lacks {name}" for name in schema["required"] if name not in value]
        out += [f"{place} has {name}" for name in value if name not in known]
        for name in known.keys() & value.keys():
            out += faults(value[name], known[name], root, f"{place}.{name}")
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            out += faults(item, schema["items"], root, f"{place}[{number}]")
    return out
