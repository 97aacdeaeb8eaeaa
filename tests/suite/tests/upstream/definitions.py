"""Definitions of tools as servers in use have them, which this host cannot check or the protocol does not know."""


def schema(properties, **more):
    return {"type": "object", "properties": properties, **more}


TEXT = {"type": "string"}
LONG = {"type": "string", "description": "x" * 70_000}

ODD = {
    "look-ahead": schema({"path": {"type": "string", "pattern": "^(?!/)"}}),
    "tuple": schema({"path": {"type": "array", "items": [TEXT, {"type": "number"}], "additionalItems": False}}),
    "exclusive": schema({"n": {"type": "number", "minimum": 0, "exclusiveMinimum": True}}),
    "marked": schema({"path": {"type": "string", "required": True}}),
    "required": schema({}, required=True),
    "php": {"type": "object", "properties": []},
    "null": schema({"path": {"type": "string", "description": None}}),
    "long": schema({"path": LONG}),
    "elsewhere": schema({"path": {"$ref": "file:///etc/passwd"}}),
    "two words": schema({}),
    "保存文件": schema({}),
    "hidden\u200b": schema({"path": {"enum": ["a\u200b"]}}),
}


def odd(tool):
    tools = [{**tool, "name": name, "inputSchema": schema} for name, schema in ODD.items()]
    texts = {"copied": "See\u200b the\ufeff \u001b[2Jdocumentation", "persian": "می\u200cخواهم", "hindi": "क\u094d\u200dष"}
    tools += [{**tool, "name": name, "description": text, "title": text} for name, text in texts.items()]
    results = {"long-result": LONG, "odd-result": {"type": "string", "pattern": "(?<=x)y"}}
    tools += [{**tool, "name": name, "outputSchema": schema({"path": result})} for name, result in results.items()]
    return [*tools, {"name": "bare"}, {**tool, "name": "hints", "annotations": {"title": 5, "readOnlyHint": True}}]


# Parts that a host has no use for.
META = {"vendor.example/card": {"uri": "ui://card", "order": [2, 1]}}
ICON = {"src": "https://vendor.example/icon.svg", "mimeType": "image/svg+xml", "sizes": ["any"], "theme": "dark"}


def whole(tool):
    hints = {"title": "Another title", "readOnlyHint": True}
    return {**tool, "title": "A title", "icons": [ICON], "annotations": hints, "_meta": META}


LINK = {"type": "resource_link", "uri": "notes://1", "name": "one", "title": "One", "size": 7, "icons": [ICON], "_meta": META}
CONTENT = [{"type": "text", "text": "t", "_meta": META}, LINK, {"type": "resource", "resource": {"uri": "notes://2", "text": "t", "_meta": META}}]
