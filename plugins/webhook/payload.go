package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// errPayload hides the error of the decoder, which may quote the payload.
var errPayload = errors.New("the payload is not one JSON object")

// decode reads a JSON object.
func decode(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil, errPayload
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errPayload
	}
	object, ok := plainValue(value).(map[string]any)
	if !ok {
		return nil, errPayload
	}
	return object, nil
}

// plainValue returns a value as templates need it: whole numbers stay whole, and what is null is missing.
func plainValue(value any) any {
	switch v := value.(type) {
	case json.Number:
		if whole, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return whole
		}
		if number, err := v.Float64(); err == nil {
			return number
		}
		return v.String()
	case map[string]any:
		for name, item := range v {
			if item == nil {
				delete(v, name)
				continue
			}
			v[name] = plainValue(item)
		}
	case []any:
		for i, item := range v {
			v[i] = plainValue(item)
		}
	}
	return value
}
