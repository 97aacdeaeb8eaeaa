package portcullis

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// match says whether a URI has the pattern, and what its variables are, decoded.
func match(pattern, uri string) (map[string]string, bool) {
	literal, rest, has := strings.Cut(pattern, "{")
	if !strings.HasPrefix(uri, literal) {
		return nil, false
	}
	uri = uri[len(literal):]
	if !has {
		return map[string]string{}, uri == ""
	}
	name, rest, closed := strings.Cut(rest, "}")
	longest := strings.IndexAny(uri, "/?#")
	if longest < 0 {
		longest = len(uri)
	}
	// The shortest value first, so that `{name}-{number}` splits at the first dash.
	for end := 1; closed && end <= longest; end++ {
		variables, matches := match(rest, uri[end:])
		if !matches {
			continue
		}
		value, err := url.PathUnescape(uri[:end])
		if err != nil || !utf8.ValidString(value) {
			return nil, false
		}
		variables[name] = value
		return variables, true
	}
	return nil, false
}
