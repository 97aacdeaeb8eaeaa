//! Its arguments are also to travel in headers: a string, a number and a flag; the fourth is not.

use guests::Tool;

guests::guest! {
    list = vec![Tool {
        input_schema: r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer","x-mcp-header":"Level"},"dry":{"type":"boolean","x-mcp-header":"Dry"},"other":{"type":"string"}}}"#.to_owned(),
        ..guests::run_tool()
    }];
    fn run(args) {
        Ok("arrived".to_owned().into())
    }
}
