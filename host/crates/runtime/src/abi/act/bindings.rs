//! Types and export bindings generated from what the dialect has, in as few words as bind it.
#![allow(missing_docs, unreachable_pub, clippy::all, reason = "generated code")]

wasmtime::component::bindgen!({
    inline: r#"
        package portcullis:act;

        world tools {
            export act:tools-sync/tool-provider-sync@0.1.0;
        }

        package act:core@0.4.0 {
            interface types {
                variant localized-string { plain(string), localized(list<tuple<string, string>>) }
                type cbor = list<u8>;
                type metadata = list<tuple<string, cbor>>;
                record error { kind: string, message: localized-string, metadata: metadata }
            }
        }

        package act:tools@0.2.0 {
            interface types {
                use act:core/types@0.4.0.{localized-string, metadata, error};
                record tool-definition {
                    name: string, description: localized-string, parameters-schema: string, metadata: metadata,
                }
                record content-part { data: list<u8>, mime-type: option<string>, metadata: metadata }
                variant tool-event { content(content-part), error(error) }
                record list-tools-response { metadata: metadata, tools: list<tool-definition> }
            }
        }

        package act:tools-sync@0.1.0 {
            interface tool-provider-sync {
                use act:core/types@0.4.0.{cbor, metadata, error};
                use act:tools/types@0.2.0.{tool-event, list-tools-response};
                list-tools: func(metadata: metadata) -> result<list-tools-response, error>;
                call-tool: func(name: string, arguments: cbor, metadata: metadata) -> list<tool-event>;
            }
        }
    "#,
    world: "portcullis:act/tools",
    exports: { default: async },
});
