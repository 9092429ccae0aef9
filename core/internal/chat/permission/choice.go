package permission

import "encoding/json"

// choice is one of the questions of an AskUserQuestion.
type choice struct {
	question string
	options  []choiceOption
	several  bool // several options may be chosen
}

type choiceOption struct{ label, description string }

// readChoices reads the input of an AskUserQuestion. Names must match exactly, as in claude, so that people are asked
// what claude takes their answer for.
func readChoices(raw json.RawMessage) (list []choice, ok bool) {
	in := readInput(raw)
	questions, ok := in.objects("questions")
	if !ok || !in.plain {
		return nil, false
	}
	for _, question := range questions {
		c, ok := readChoice(question)
		if !ok {
			return nil, false
		}
		list = append(list, c)
	}
	return list, true
}

func readChoice(in input) (c choice, ok bool) {
	options, ok := in.objects("options")
	if !ok || !in.read("question", &c.question) || !in.read("multiSelect", &c.several) {
		return choice{}, false
	}
	for _, option := range options {
		var o choiceOption
		if !option.read("label", &o.label) || !option.read("description", &o.description) {
			return choice{}, false
		}
		c.options = append(c.options, o)
	}
	return c, true
}
