package portcullis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// encode writes compact JSON, in which characters are as they are.
func encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}

func mustEncode(value any) []byte {
	text, err := encode(value)
	if err != nil {
		panic(fmt.Sprintf("portcullis: %v", err))
	}
	return text
}

func decode(text []byte, into any) error { return json.Unmarshal(text, into) }

// read fills a struct from JSON that the host has checked against the struct's schema. What is missing or null gets its
// default.
func read(text []byte, into reflect.Value) error {
	fill(into)
	return decode(text, into.Interface())
}

// fill gives the fields of a struct their defaults.
func fill(into reflect.Value) {
	into = into.Elem()
	if into.Kind() != reflect.Struct {
		return
	}
	for _, field := range fieldsOf(into.Type()) {
		if field.fallback == nil {
			continue
		}
		value := reflect.New(field.of)
		// The schema has been made of it, which has checked it.
		_ = decode([]byte(field.fallbackJSON()), value.Interface())
		if field.optional {
			into.Field(field.index).Set(value)
		} else {
			into.Field(field.index).Set(value.Elem())
		}
	}
}
