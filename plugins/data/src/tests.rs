//! The tools on real folders, through the fake host.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use portcullis_guest::testing::Host;
use serde_json::{Value, json};

use crate::data::PLUGIN;

fn call(host: &Host, tool: &str, arguments: Value) -> Result<Value, String> {
    let result = host.call(&PLUGIN, tool, arguments).map_err(|error| error.to_string())?;
    Ok(serde_json::from_str(&result.structured.unwrap()).unwrap())
}

/// A table of towns with so many rows.
fn parquet(to: &Path, rows: i64, compression: Compression) {
    let schema = parse_message_type("message towns { required binary name (UTF8); optional int64 people; }").unwrap();
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer = SerializedFileWriter::new(File::create(to).unwrap(), schema.into(), Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let names: Vec<_> = (0..rows).map(|row| ByteArray::from(format!("town {row}").as_str())).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&names, None, None).unwrap();
    column.close().unwrap();
    let people: Vec<_> = (0..rows).filter(|row| row % 2 == 0).collect();
    let there: Vec<_> = (0..rows).map(|row| i16::from(row % 2 == 0)).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&people, Some(&there), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn parquet_is_read_with_each_pure_compression() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::new().folder(folder.path());
    for compression in
        [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::LZ4_RAW, Compression::GZIP(Default::default())]
    {
        parquet(&folder.path().join("towns.parquet"), 1_001, compression);
        let described = call(&host, "describe", json!({ "path": "towns.parquet" })).unwrap();
        assert_eq!(described["rows"], 1_001, "{compression}");
        assert_eq!(described["columns"][1]["missing"], 500, "{compression}");
        let sums = json!([{ "compute": "sum", "column": "people" }, { "compute": "count", "column": "people" }]);
        let summed = call(&host, "query", json!({ "path": "towns.parquet", "aggregates": sums })).unwrap();
        assert_eq!(summed["rows"], json!([[250_500, 501]]), "{compression}");
    }
    // Half a file, and one whose end claims parts beyond itself.
    let file = folder.path().join("towns.parquet");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[whole.len() / 2..]).unwrap();
    assert!(call(&host, "describe", json!({ "path": "towns.parquet" })).unwrap_err().contains("towns.parquet"));
}

#[test]
fn a_large_file_is_read_until_the_result_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::new().folder(folder.path());
    let mut text = String::from("\u{feff}id\tname\n");
    for row in 0..100_000 {
        writeln!(text, "{row}\tname {}", row % 7).unwrap();
    }
    fs::write(folder.path().join("big.tsv"), text).unwrap();
    let first = call(&host, "query", json!({ "path": "big.tsv", "limit": 120 })).unwrap();
    assert_eq!((first["rows_read"].as_u64(), &first["truncated"]), (Some(121), &json!(true)));
    assert_eq!(host.chunk_texts().len(), 3, "batches of 50 rows");
    let order = json!([{ "column": "id", "descending": true }]);
    let last = call(&host, "query", json!({ "path": "big.tsv", "order_by": order, "limit": 2 })).unwrap();
    assert_eq!(last["rows"], json!([[99_999, "name 4"], [99_998, "name 3"]]));
    assert_eq!((last["rows_read"].as_u64(), &last["truncated"]), (Some(100_000), &json!(true)));
    let groups = json!({ "path": "big.tsv", "group_by": ["id"], "aggregates": [{ "compute": "count" }] });
    assert!(call(&host, "query", groups).unwrap_err().contains("more than 10000 groups"));
    let wide = (0..1_001).map(|column| format!("c{column}")).collect::<Vec<_>>().join(",");
    fs::write(folder.path().join("wide.csv"), wide).unwrap();
    assert!(call(&host, "describe", json!({ "path": "wide.csv" })).unwrap_err().contains("more than 1000 columns"));
    fs::write(folder.path().join("line.ndjson"), "{".repeat(2 << 20)).unwrap();
    assert!(call(&host, "describe", json!({ "path": "line.ndjson" })).unwrap_err().contains("line 1 is longer"));
}

#[test]
fn texts_become_numbers_only_if_nothing_is_lost() {
    let kinds = ["12", "-3", "0.5", "1e3", "007", "+1", "12345678901234567890", "1.2.3", "NaN", "", "true", "x"];
    let kinds: Vec<_> = kinds.map(|text| crate::value::kind(&crate::value::from_text(text))).into();
    let (text, number) = ("text", "number");
    assert_eq!(kinds, ["integer", "integer", number, number, text, text, text, text, text, "null", "boolean", text]);
}
