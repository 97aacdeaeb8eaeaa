//! Tables in files of several formats, row by row.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use portcullis_guest::ToolError;
use portcullis_guest::filesystem::{explain, resolve};
use serde_json::{Map, Value};

use crate::parquet_file::ParquetFile;
use crate::value;

/// A header of millions of names would make each row as wide.
const MOST_COLUMNS: usize = 1_000;
/// A line without an end would be read into memory.
const MOST_LINE: u64 = 1 << 20;
/// An array can only be read as a whole.
const MOST_JSON: u64 = 16 << 20;
/// How many objects are looked at to find the columns.
const LOOKED_AT: usize = 1_000;

/// A row: where it stands, and its cells in the order of the columns.
pub(crate) struct Row {
    pub(crate) place: String,
    pub(crate) cells: Vec<Value>,
}

type Rows = Box<dyn Iterator<Item = Result<Row, ToolError>>>;
/// An object, and where it stands.
type Placed = (String, Map<String, Value>);
type Objects = Box<dyn Iterator<Item = Result<Placed, ToolError>>>;

/// A table: its columns, and its rows to be read once.
pub(crate) struct Table {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Rows,
}

impl Table {
    pub(crate) fn open(path: &str) -> Result<Self, ToolError> {
        let path = resolve(path)?;
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
        let table = match ending.as_str() {
            "csv" => separated(&path, b','),
            "tsv" => separated(&path, b'\t'),
            "ndjson" | "jsonl" => of_objects(|| lines(&path)),
            "json" => of_objects(|| array(&path)),
            "parquet" => columnar(&path),
            _ => Err(ToolError::invalid(format_args!(
                "`{}` is no table that is known; the name must end in .csv, .tsv, .json, .ndjson, .jsonl or .parquet",
                path.display()
            ))),
        }?;
        if table.columns.len() > MOST_COLUMNS {
            return Err(ToolError::failed(format_args!("`{}` has more than {MOST_COLUMNS} columns", path.display())));
        }
        Ok(table)
    }

    /// The place of a column among the cells of a row.
    pub(crate) fn column(&self, name: &str) -> Result<usize, ToolError> {
        find(&self.columns, name)
    }
}

/// The place of a name, or an error with the names that there are.
pub(crate) fn find(columns: &[String], name: &str) -> Result<usize, ToolError> {
    columns.iter().position(|column| column == name).ok_or_else(|| {
        let shown: Vec<_> = columns.iter().take(50).map(|column| format!("`{column}`")).collect();
        let more = if columns.len() > 50 { ", ..." } else { "" };
        ToolError::invalid(format_args!("there is no column `{name}`; there are {}{more}", shown.join(", ")))
    })
}

fn open(path: &Path) -> Result<File, ToolError> {
    File::open(path).map_err(|error| explain(path, &error))
}

fn broken(path: &Path, why: impl std::fmt::Display) -> ToolError {
    ToolError::failed(format_args!("`{}`: {why}", path.display()))
}

fn separated(path: &Path, separator: u8) -> Result<Table, ToolError> {
    let mut reader = csv::ReaderBuilder::new().delimiter(separator).from_reader(open(path)?);
    let mut columns: Vec<String> =
        reader.headers().map_err(|error| broken(path, error))?.iter().map(ToOwned::to_owned).collect();
    if let Some(first) = columns.first_mut() {
        // Spreadsheets begin a file with a mark of its encoding.
        *first = first.trim_start_matches('\u{feff}').to_owned();
    }
    let path = path.to_owned();
    let rows = reader.into_records().map(move |record| {
        let record = record.map_err(|error| broken(&path, error))?;
        let line = record.position().map_or(0, csv::Position::line);
        Ok(Row { place: format!("line {line}"), cells: record.iter().map(value::from_text).collect() })
    });
    Ok(Table { columns, rows: Box::new(rows) })
}

/// Objects have their columns by name; those that no object has at the beginning are not found.
fn of_objects(open: impl Fn() -> Result<Objects, ToolError>) -> Result<Table, ToolError> {
    let mut columns: Vec<String> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for object in open()?.take(LOOKED_AT) {
        for name in object?.1.into_iter().map(|(name, _)| name) {
            if !places.contains_key(&name) {
                places.insert(name.clone(), columns.len());
                columns.push(name);
            }
        }
        if columns.len() > MOST_COLUMNS {
            break;
        }
    }
    let width = columns.len();
    let rows = open()?.map(move |object| {
        let (place, object) = object?;
        let mut cells = vec![Value::Null; width];
        for (name, value) in object {
            if let Some(&at) = places.get(&name) {
                cells[at] = value;
            }
        }
        Ok(Row { place, cells })
    });
    Ok(Table { columns, rows: Box::new(rows) })
}

fn lines(path: &Path) -> Result<Objects, ToolError> {
    let mut reader = BufReader::with_capacity(64 << 10, open(path)?);
    let path = path.to_owned();
    let mut number = 0;
    let mut next = move || -> Result<Option<Placed>, ToolError> {
        let mut line = Vec::new();
        loop {
            number += 1;
            line.clear();
            let read = reader.by_ref().take(MOST_LINE + 1).read_until(b'\n', &mut line);
            if read.map_err(|error| explain(&path, &error))? == 0 {
                return Ok(None);
            }
            if line.len() as u64 > MOST_LINE {
                return Err(broken(&path, format_args!("line {number} is longer than {MOST_LINE} bytes")));
            }
            if !line.trim_ascii().is_empty() {
                let object = serde_json::from_slice(&line).map_err(|error| {
                    broken(&path, format_args!("line {number}, column {}, is no JSON object: {error}", error.column()))
                })?;
                return Ok(Some((format!("line {number}"), object)));
            }
        }
    };
    Ok(Box::new(std::iter::from_fn(move || next().transpose())))
}

fn array(path: &Path) -> Result<Objects, ToolError> {
    let mut bytes = Vec::new();
    let read = open(path)?.take(MOST_JSON + 1).read_to_end(&mut bytes);
    read.map_err(|error| explain(path, &error))?;
    if bytes.len() as u64 > MOST_JSON {
        return Err(broken(path, "a .json file may have 16 MiB; as .ndjson, an object per line, it may have any size"));
    }
    let objects: Vec<Map<String, Value>> = serde_json::from_slice(&bytes)
        .map_err(|error| broken(path, format_args!("it is no JSON array of objects: {error}")))?;
    Ok(Box::new(objects.into_iter().zip(1..).map(|(object, number)| Ok((format!("object {number}"), object)))))
}

fn columnar(path: &Path) -> Result<Table, ToolError> {
    let reader = SerializedFileReader::new(ParquetFile::open(path)?).map_err(|error| broken(path, error))?;
    let fields = reader.metadata().file_metadata().schema().get_fields();
    let columns = fields.iter().map(|field| field.name().to_owned()).collect();
    let path = path.to_owned();
    let rows = RowIter::from_file_into(Box::new(reader)).zip(1..).map(move |(row, number)| {
        let row = row.map_err(|error| broken(&path, format_args!("row {number}: {error}")))?;
        let cells = row.get_column_iter().map(|(_, field)| field.to_json_value()).collect();
        Ok(Row { place: format!("row {number}"), cells })
    });
    Ok(Table { columns, rows: Box::new(rows) })
}
