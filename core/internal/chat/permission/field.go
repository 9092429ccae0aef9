package permission

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/wording"
)

// formField is a field of a form. Its value is a text, a number, a truth value, or one or several of a list of texts.
type formField struct {
	Name     string       `json:"name"`
	Title    string       `json:"title"`
	Help     string       `json:"help,omitempty"`
	Missing  int          `json:"missing,omitempty"` // characters of them that are not shown
	Required bool         `json:"required,omitempty"`
	Kind     wording.Kind `json:"kind,omitempty"`  // of what is written; empty: it is chosen
	Truth    bool         `json:"truth,omitempty"` // yes or no is chosen
	Several  bool         `json:"several,omitempty"`
	Labels   []string     `json:"labels,omitempty"`
	Values   []string     `json:"values,omitempty"` // of the labels
	Least    *float64     `json:"least,omitempty"`  // the least number, or number of characters or of answers
	Most     *float64     `json:"most,omitempty"`
	Usual    string       `json:"usual,omitempty"` // what the server proposes to write; empty: nothing
}

// Free reports whether people write the value in their own words.
func (f *formField) Free() bool { return f.Kind != "" }

// readField reads the schema of a field.
func readField(name string, raw json.RawMessage) (f formField, err error) {
	in := readInput(raw)
	if !in.plain {
		return f, errors.New("its schema is not an object")
	}
	var counted body // counts what is cut
	f.Name, f.Title = name, counted.cut(oneLine(in.text("title")), maxLabel)
	if f.Title == "" {
		f.Title = counted.cut(oneLine(name), maxLabel)
	}
	f.Help = counted.cut(strings.TrimSpace(wording.Visible(in.text("description"))), maxDetail)
	switch kind := in.text("type"); {
	case kind == "boolean":
		f.Truth = true
	case kind == "array":
		f.Several = true
		items := readInput(in.value("items"))
		err = errors.Join(f.readLabels(items, &counted), f.readLimits(in, "minItems", "maxItems"))
	case kind == "string" && (in.value("enum") != nil || in.value("oneOf") != nil):
		err = f.readLabels(in, &counted)
	case kind == "string":
		f.Kind = textKind(in.text("format"))
		err = f.readLimits(in, "minLength", "maxLength")
		f.Usual = in.text("default")
	case kind == "number", kind == "integer":
		f.Kind = wording.Kind(kind)
		err = f.readLimits(in, "minimum", "maximum")
		if usual := in.value("default"); usual != nil {
			f.Usual = string(usual)
		}
	default:
		err = errors.New("its type is unknown")
	}
	if _, fits := f.written(f.Usual); f.Usual != "" && (!fits || utf8.RuneCountInString(f.Usual) > maxField || oneLine(f.Usual) != f.Usual) {
		f.Usual = ""
	}
	f.Missing = counted.Missing
	return f, err
}

// textKind is the kind of a text of this format. A server checks a format that is not known here.
func textKind(format string) wording.Kind {
	switch kind := wording.Kind(format); kind {
	case wording.Email, wording.URI, wording.Date, wording.DateTime:
		return kind
	default:
		return wording.AnyText
	}
}

// readLabels reads a list of texts, with a title for each if there are some.
func (f *formField) readLabels(in input, counted *body) error {
	var names []string
	if !in.read("enum", &f.Values) || !in.read("enumNames", &names) {
		return errors.New("its answers are not texts")
	}
	for _, list := range []string{"oneOf", "anyOf"} {
		options, ok := in.objects(list)
		if !ok {
			return errors.New("its answers are not a list")
		}
		for _, option := range options {
			var value, title string
			if option.value("const") == nil || !option.read("const", &value) || !option.read("title", &title) {
				return errors.New("its answers are not texts with titles")
			}
			f.Values, names = append(f.Values, value), append(names, title)
		}
	}
	if n := len(f.Values); n == 0 || n > maxFormLabels {
		return fmt.Errorf("it has %d answers, and from 1 to %d can be offered", n, maxFormLabels)
	}
	for i, value := range f.Values {
		label := oneLine(value)
		if i < len(names) && oneLine(names[i]) != "" {
			label = oneLine(names[i])
		}
		f.Labels = append(f.Labels, counted.cut(label, maxLabel))
	}
	return nil
}

// readLimits reads the least and the greatest value, or number.
func (f *formField) readLimits(in input, least, most string) error {
	if !in.read(least, &f.Least) || !in.read(most, &f.Most) {
		return errors.New("its limits are not numbers")
	}
	return nil
}

// takes describes what people write; empty: they choose one answer.
func (f *formField) takes() string {
	switch {
	case f.Free():
		return wording.Value(f.Kind, f.Least, f.Most)
	case f.Several:
		return wording.Several(f.Least, f.Most)
	default:
		return ""
	}
}

// written reads a value that was written. It reports whether it fits.
func (f *formField) written(text string) (value json.RawMessage, ok bool) {
	value, err := json.Marshal(text)
	if err != nil || utf8.RuneCountInString(text) > maxFormTexts {
		return nil, false
	}
	switch f.Kind {
	case wording.Number, wording.Integer:
		n, err := strconv.ParseFloat(text, 64)
		if err == nil && f.Kind == wording.Integer {
			_, err = strconv.ParseInt(text, 10, 64)
		}
		return json.RawMessage(text), err == nil && json.Valid([]byte(text)) && f.within(n)
	case wording.Email:
		address, err := mail.ParseAddress(text)
		ok = err == nil && address.Address == text
	case wording.URI:
		address, err := url.Parse(text)
		ok = err == nil && address.IsAbs()
	case wording.Date:
		_, err := time.Parse(time.DateOnly, text)
		ok = err == nil
	case wording.DateTime:
		_, err := time.Parse(time.RFC3339, text)
		ok = err == nil
	default:
		ok = true
	}
	return value, ok && f.within(float64(utf8.RuneCountInString(text)))
}

// within reports whether a number is within the limits.
func (f *formField) within(n float64) bool {
	return (f.Least == nil || n >= *f.Least) && (f.Most == nil || n <= *f.Most)
}

// chosen is the value for these labels. It reports whether so many may be chosen.
func (f *formField) chosen(picks []int) (value json.RawMessage, ok bool) {
	var list []string
	for _, p := range picks {
		if p < len(f.Values) && !slices.Contains(list, f.Values[p]) {
			list = append(list, f.Values[p])
		}
	}
	var err error
	if f.Several {
		value, err = json.Marshal(list)
		return value, err == nil && f.within(float64(len(list)))
	}
	value, err = json.Marshal(strings.Join(list, ""))
	return value, err == nil && len(list) == 1
}
