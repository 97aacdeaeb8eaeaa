package portcullis

import (
	"reflect"
	"strings"
	"testing"

	"portcullis/internal/abi"
)

type inner struct {
	X     int     `json:"x" doc:"Across."`
	Label *string `json:"label"`
}

type everything struct {
	Name    string          `json:"name" min:"1" max:"40"`
	Scale   float64         `json:"scale" min:"0.25" default:"0.5"`
	Loud    bool            `json:"loud" default:"true"`
	Colour  *string         `json:"colour" enum:"red,green"`
	Age     *int64          `json:"age"`
	Origin  *inner          `json:"origin"`
	Points  []inner         `json:"points" min:"1" max:"9"`
	Flags   map[string]bool `json:"flags"`
	Skipped string          `json:"-"`
	Plain   uint8
	hidden  int
}

func TestSchemas(t *testing.T) {
	_ = everything{}.hidden
	point := `"properties":{"x":{"type":"integer","description":"Across."},"label":{"type":["string","null"]}},"required":["x"]`
	for _, test := range []struct {
		of       reflect.Type
		for_     use
		expected string
	}{
		{reflect.TypeFor[Nothing](), forInput, `{"type":"object","properties":{},"additionalProperties":false}`},
		{reflect.TypeFor[everything](), forInput, `{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":40},` +
			`"scale":{"type":"number","minimum":0.25,"default":0.5},"loud":{"type":"boolean","default":true},` +
			`"colour":{"anyOf":[{"type":"string","enum":["red","green"]},{"type":"null"}]},"age":{"type":["integer","null"]},` +
			`"origin":{"type":["object","null"],` + point + `},"points":{"type":"array","items":{"type":"object",` + point + `},"minItems":1,"maxItems":9},` +
			`"flags":{"type":"object","additionalProperties":{"type":"boolean"}},"Plain":{"type":"integer"}},` +
			`"required":["name","points","flags","Plain"],"additionalProperties":false}`},
		{reflect.TypeFor[inner](), forOutput, strings.Replace(`{"type":"object",`+point+`}`, `["x"]`, `["x","label"]`, 1)},
		{reflect.TypeFor[inner](), forForm, strings.Replace(`{"type":"object",`+point+`}`, `["string","null"]`, `"string"`, 1)},
	} {
		if found := schemaOf(test.of, test.for_); found != test.expected {
			t.Errorf("%v\n%s\nexpected\n%s", test.of, found, test.expected)
		}
	}
}

type recursive struct {
	Next *recursive `json:"next"`
}

func TestWhatHasNoSchemaSaysWhy(t *testing.T) {
	for of, expected := range map[reflect.Type]string{
		reflect.TypeFor[recursive]():               "contains itself",
		reflect.TypeFor[struct{ C chan int }]():    "chan int has no schema",
		reflect.TypeFor[struct{ M map[int]int }](): "map[int]int has no schema",
		reflect.TypeFor[struct{ A any }]():         "has no schema",
		reflect.TypeFor[string]():                  "is no struct",
		reflect.TypeFor[struct {
			N int `min:"few"`
		}](): "is no number",
		reflect.TypeFor[struct {
			N int `default:"few"`
		}](): "does not fit its type",
		reflect.TypeFor[struct {
			B bool `default:"yes"`
		}](): "does not fit its type",
	} {
		func() {
			defer func() {
				if why, _ := recover().(string); !strings.Contains(why, expected) {
					t.Errorf("%v: %q lacks %q", of, why, expected)
				}
			}()
			schemaOf(of, forInput)
			t.Errorf("%v has a schema", of)
		}()
	}
}

func FuzzURIsNeverPanic(f *testing.F) {
	f.Add("test://{kind}/{name}-{number}", "test://a/b-c")
	f.Add("a:{x", "a:%")
	f.Fuzz(func(t *testing.T, pattern, uri string) {
		if strings.Count(pattern, "{") > 3 || len(uri) > 200 {
			return
		}
		match(pattern, uri)
	})
}

func TestACompletionOfNothingIsAMistake(t *testing.T) {
	plugin := plugin{resources: []resource{{definition: abi.Resource{URI: "a://{b}"}}}}
	completion{of: abi.Reference{Template: "a://{b}"}, argument: "b"}.check(&plugin)
	for _, wrong := range []completion{
		{of: abi.Reference{Template: "a://{b}"}, argument: "c"},
		{of: abi.Reference{Prompt: "greet"}, argument: "b"},
	} {
		func() {
			defer func() {
				if why, _ := recover().(string); !strings.Contains(why, "there is no argument") {
					t.Errorf("%+v: %q", wrong, why)
				}
			}()
			wrong.check(&plugin)
		}()
	}
}
