package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
	"github.com/clawhost/clawhost/sdk/network"
)

// The Bot API's limits for files from bots.
const (
	maxUpload = 50 << 20 // bytes
	maxPhoto  = 10 << 20 // bytes of an image that is shown as a photo
	maxAlbum  = 10       // files
)

// shape is the way in which a file is sent, by the Bot API's name.
type shape string

const (
	photo    shape = "photo"
	video    shape = "video"
	audio    shape = "audio"
	voice    shape = "voice"
	document shape = "document"
)

// shapes are the types of files that Telegram shows. All others are documents.
var shapes = []network.Shape[shape]{
	{Kinds: []chat.MediaKind{chat.Image}, Types: []string{"image/jpeg", "image/png", "image/webp"}, Most: maxPhoto, As: photo},
	{Kinds: []chat.MediaKind{chat.Video}, Types: []string{"video/mp4"}, Most: maxUpload, As: video},
	{Kinds: []chat.MediaKind{chat.Audio}, Types: []string{"audio/mpeg", "audio/mp4", "audio/x-m4a"}, Most: maxUpload, As: audio},
	{Kinds: []chat.MediaKind{chat.Voice}, Types: []string{"audio/ogg", "audio/mpeg", "audio/mp4", "audio/x-m4a"}, Most: maxUpload, As: voice},
}

// album returns the kind of album that a file may be part of; empty: none.
func (s shape) album() string {
	switch s {
	case photo, video:
		return "pictures"
	case voice:
		return ""
	default:
		return string(s)
	}
}

// shaped is a file with the way in which it is sent.
type shaped struct {
	chat.Media
	as shape
}

// step is one request of a message: a text, a file or an album.
type step struct {
	files  []shaped
	text   markdown.Part // the message's, or the first file's caption
	params tgbotapi.Params
	poll   *chat.Poll // nil: none
}

// plan splits a message into requests. If all files fit into one request, a text that is short enough is their caption;
// otherwise the text is sent first.
func plan(out chat.Outgoing) ([]step, error) {
	if out.Poll != nil {
		return []step{pollStep(out)}, nil
	}
	text, entities := markdown.ToEntities(out.Text, textLimit)
	parts := markdown.Split(text, entities, textLimit)
	steps, err := enclosures(out.Media)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 && len(steps) == 0 {
		return nil, network.Refuse(chat.Invalid, "the message has no text")
	}
	under := len(parts) - 1 // the step with the buttons
	switch caption := markdown.Split(text, entities, captionLimit); {
	case len(steps) == 1 && len(caption) == 1 && (len(out.Buttons) == 0 || len(steps[0].files) == 1):
		steps[0].text, under = caption[0], 0
	default:
		texts := make([]step, 0, len(parts)+len(steps))
		for _, part := range parts {
			texts = append(texts, step{text: part})
		}
		steps = append(texts, steps...)
	}
	for i := range steps {
		steps[i].params = tgbotapi.Params{}
		if out.Silent {
			steps[i].params["disable_notification"] = "true"
		}
	}
	if under < 0 {
		under = slices.IndexFunc(steps, func(s step) bool { return len(s.files) == 1 })
	}
	if under < 0 && len(out.Buttons) > 0 {
		return nil, network.Refuse(chat.Invalid, "an album has no buttons")
	}
	attach(out, steps[0].params, steps[max(under, 0)].params)
	return steps, nil
}

// attach adds the reply to a message's first request, and the buttons to the request that has them.
func attach(out chat.Outgoing, first, under tgbotapi.Params) {
	first.AddNonEmpty("reply_parameters", replyTo(out.ReplyTo))
	if len(out.Buttons) > 0 {
		under["reply_markup"] = keyboard(out.Buttons)
	}
}

// enclosures returns the steps of a message's files, in order. Consecutive files that may be combined become an album.
func enclosures(media []chat.Media) ([]step, error) {
	var steps []step
	for _, m := range media {
		if err := network.CheckFile(m, maxUpload); err != nil {
			return nil, err
		}
		file := shaped{Media: m, as: network.ShapeOf(shapes, m, document)}
		if n := len(steps); n > 0 && len(steps[n-1].files) < maxAlbum && file.as.album() != "" &&
			steps[n-1].files[0].as.album() == file.as.album() {
			steps[n-1].files = append(steps[n-1].files, file)
			continue
		}
		steps = append(steps, step{files: []shaped{file}})
	}
	return steps, nil
}

// request returns the step's call, without the chat.
func (s *step) request() (method string, params tgbotapi.Params, fields []string) {
	params = tgbotapi.Params{}
	maps.Copy(params, s.params)
	if s.poll != nil {
		return "sendPoll", params, nil
	}
	switch len(s.files) {
	case 0:
		adorn(params, "text", "entities", s.text)
		return "sendMessage", params, nil
	case 1:
		as := string(s.files[0].as)
		adorn(params, "caption", "caption_entities", s.text)
		return "send" + strings.ToUpper(as[:1]) + as[1:], params, []string{as}
	}
	type item struct {
		Type     string            `json:"type"`
		Media    string            `json:"media"`
		Caption  string            `json:"caption,omitempty"`
		Entities []markdown.Entity `json:"caption_entities,omitempty"`
	}
	items := make([]item, len(s.files))
	for i, file := range s.files {
		fields = append(fields, "file"+strconv.Itoa(i))
		items[i] = item{Type: string(file.as), Media: "attach://" + fields[i]}
	}
	items[0].Caption, items[0].Entities = s.text.Text, s.text.Entities
	params["media"] = object(items)
	return "sendMediaGroup", params, fields
}

func adorn(params tgbotapi.Params, text, entities string, part markdown.Part) {
	params.AddNonEmpty(text, part.Text)
	if len(part.Entities) > 0 {
		params[entities] = object(part.Entities)
	}
}

// correct changes a refused step so that it may succeed, if possible: an image that Telegram cannot show is sent as a
// document, and a caption without formatting.
func (s *step) correct(refused *callError) bool {
	if refused.Status != 400 || len(s.files) == 0 {
		return false
	}
	changed := false
	switch {
	case refused.says("photo", "image", "video", "voice", "audio", "dimensions"):
		for i := range s.files {
			changed = changed || s.files[i].as != document
			s.files[i].as = document
		}
	case refused.says("entit", "url"):
		changed = len(s.text.Entities) > 0
		s.text.Entities = nil
	}
	return changed
}
