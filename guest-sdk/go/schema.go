package portcullis

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// use is what a schema is for.
type use uint8

const (
	forInput use = iota
	forOutput
	forForm
)

// object is a JSON object in the order in which its members were added.
type object struct{ text []byte }

func (o *object) set(name, value string) {
	separator := byte(',')
	if len(o.text) == 0 {
		separator = '{'
	}
	o.text = append(o.text, separator)
	o.text = append(o.text, quoted(name)...)
	o.text = append(append(o.text, ':'), value...)
}

func (o *object) String() string {
	if len(o.text) == 0 {
		return "{}"
	}
	return string(o.text) + "}"
}

func quoted(text string) string { return string(mustEncode(text)) }

func list(items []string) string { return "[" + strings.Join(items, ",") + "]" }

func quotedAll(words []string) string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = quoted(word)
	}
	return list(all)
}

// schemaOf is the schema of a struct, as the root of a tool's arguments, of a structured result or of a form.
func schemaOf(of reflect.Type, for_ use) string {
	if of.Kind() != reflect.Struct {
		panic(fmt.Sprintf("portcullis: %v is no struct", of))
	}
	schema := structSchema(of, for_, nil)
	if for_ == forInput {
		schema.set("additionalProperties", "false")
	}
	return schema.String()
}

func structSchema(of reflect.Type, for_ use, inside []reflect.Type) *object {
	for _, outer := range inside {
		if outer == of {
			panic(fmt.Sprintf("portcullis: %v contains itself, which a schema in place cannot say", of))
		}
	}
	inside = append(inside, of)
	var properties object
	required := []string{}
	for _, field := range fieldsOf(of) {
		properties.set(field.name, field.schema(for_, inside))
		if for_ == forOutput || !field.optional && field.fallback == nil {
			required = append(required, field.name)
		}
	}
	schema := &object{}
	schema.set("type", `"object"`)
	schema.set("properties", properties.String())
	if len(required) > 0 {
		schema.set("required", quotedAll(required))
	}
	return schema
}

// field is a field of a struct, and what its tags say.
type field struct {
	index    int
	name     string
	of       reflect.Type // without the pointer
	optional bool
	tags     reflect.StructTag
	fallback *string
	words    []string
}

func fieldsOf(of reflect.Type) []field {
	var fields []field
	for i := range of.NumField() {
		of := of.Field(i)
		name, _, _ := strings.Cut(of.Tag.Get("json"), ",")
		if !of.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = of.Name
		}
		found := field{index: i, name: name, of: of.Type, tags: of.Tag}
		if of.Type.Kind() == reflect.Pointer {
			found.of, found.optional = of.Type.Elem(), true
		}
		if fallback, has := of.Tag.Lookup("default"); has {
			found.fallback = &fallback
		}
		if words := of.Tag.Get("enum"); words != "" {
			found.words = strings.Split(words, ",")
		}
		fields = append(fields, found)
	}
	return fields
}

func (f field) schema(for_ use, inside []reflect.Type) string {
	schema := typeSchema(f.of, for_, inside, f.optional && for_ != forForm && f.words == nil)
	if f.words != nil {
		schema.set("enum", quotedAll(f.words))
		if f.optional && for_ != forForm {
			// Null is none of the words.
			either := &object{}
			either.set("anyOf", list([]string{schema.String(), `{"type":"null"}`}))
			schema = either
		}
	}
	for _, tag := range [][2]string{{"title", "title"}, {"doc", "description"}, {"format", "format"}} {
		if text := f.tags.Get(tag[0]); text != "" {
			schema.set(tag[1], quoted(text))
		}
	}
	bounds := [2]string{"minimum", "maximum"}
	switch f.of.Kind() {
	case reflect.String:
		bounds = [2]string{"minLength", "maxLength"}
	case reflect.Slice:
		bounds = [2]string{"minItems", "maxItems"}
	}
	for i, tag := range [2]string{"min", "max"} {
		bound := f.tags.Get(tag)
		if bound == "" {
			continue
		}
		if _, err := strconv.ParseFloat(bound, 64); err != nil {
			panic(fmt.Sprintf("portcullis: `%s:%q` of the field `%s` is no number", tag, bound, f.name))
		}
		schema.set(bounds[i], bound)
	}
	if f.fallback != nil {
		schema.set("default", f.fallbackJSON())
	}
	return schema.String()
}

// fallbackJSON is the default as JSON; a text's is the tag itself.
func (f field) fallbackJSON() string {
	json := *f.fallback
	if f.of.Kind() == reflect.String {
		json = quoted(json)
	}
	if err := decode([]byte(json), reflect.New(f.of).Interface()); err != nil {
		panic(fmt.Sprintf("portcullis: `default:%q` of the field `%s` does not fit its type: %v", *f.fallback, f.name, err))
	}
	return json
}

func typeSchema(of reflect.Type, for_ use, inside []reflect.Type, orNull bool) *object {
	named := func(name string) *object {
		schema := &object{}
		if orNull {
			schema.set("type", quotedAll([]string{name, "null"}))
		} else {
			schema.set("type", quoted(name))
		}
		return schema
	}
	switch of.Kind() {
	case reflect.String:
		return named("string")
	case reflect.Bool:
		return named("boolean")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return named("integer")
	case reflect.Float32, reflect.Float64:
		return named("number")
	case reflect.Slice:
		schema := named("array")
		schema.set("items", typeSchema(of.Elem(), for_, inside, false).String())
		return schema
	case reflect.Map:
		if of.Key().Kind() == reflect.String {
			schema := named("object")
			schema.set("additionalProperties", typeSchema(of.Elem(), for_, inside, false).String())
			return schema
		}
	case reflect.Struct:
		schema := structSchema(of, for_, inside)
		if orNull {
			schema.text = append([]byte(`{"type":["object","null"]`), strings.TrimPrefix(string(schema.text), `{"type":"object"`)...)
		}
		return schema
	}
	panic(fmt.Sprintf("portcullis: %v has no schema; use texts, numbers, truths, slices, maps from texts, structs, and pointers to what is optional", of))
}
