package main

import (
	"encoding/json"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
)

// update is an update with the fields that the library, which supports the Bot API of 2021, leaves out.
type update struct {
	tgbotapi.Update
	extra    extra // of the message that the update is about
	reaction *reaction
	stopped  *stopped
}

// reaction is a change of a person's reactions to a message: the old and the new ones.
type reaction struct {
	Chat      *tgbotapi.Chat `json:"chat"`
	MessageID int            `json:"message_id"`
	User      *tgbotapi.User `json:"user"`
	Anonymous *tgbotapi.Chat `json:"actor_chat"`
	Date      int64          `json:"date"`
	Old       []emoji        `json:"old_reaction"`
	New       []emoji        `json:"new_reaction"`
}

// emoji is a reaction; custom emojis have an empty Emoji.
type emoji struct {
	Emoji string `json:"emoji"`
}

// stopped is a press of a draft's stop button.
type stopped struct {
	Chat     *tgbotapi.Chat `json:"chat"`
	ThreadID int            `json:"message_thread_id"`
}

// received is a raw update. One that cannot be decoded is confirmed all the same; otherwise it would be delivered forever.
type received struct {
	update
	unreadable error
}

// UnmarshalJSON implements json.Unmarshaler. It never returns an error, which would lose the other updates of a poll.
func (r *received) UnmarshalJSON(data []byte) error {
	r.unreadable = json.Unmarshal(data, &r.update)
	return nil
}

// extra has the fields of a message that the library does not support.
type extra struct {
	ThreadID int  `json:"message_thread_id"`
	IsTopic  bool `json:"is_topic_message"`
	Chat     struct {
		IsForum bool `json:"is_forum"`
	} `json:"chat"`
	Quote struct {
		Text string `json:"text"`
	} `json:"quote"`
	Rich    any `json:"rich_message"` // of any type
	ReplyTo struct {
		Rich         any `json:"rich_message"`
		TopicCreated *struct {
			Name string `json:"name"`
		} `json:"forum_topic_created"`
	} `json:"reply_to_message"`
	Elsewhere *elsewhere `json:"external_reply"`
	Origin    *origin    `json:"forward_origin"`
}

// elsewhere is a replied-to message of another chat. Telegram gives its file, but of its text only the quoted part.
type elsewhere struct {
	tgbotapi.Message

	Origin *origin `json:"origin"`
}

// origin is the origin of a forwarded message.
type origin struct {
	Date       int64          `json:"date"`
	User       *tgbotapi.User `json:"sender_user"`
	UserName   string         `json:"sender_user_name"`
	SenderChat *tgbotapi.Chat `json:"sender_chat"`
	Chat       *tgbotapi.Chat `json:"chat"`
}

// UnmarshalJSON sets the update's id even if the rest cannot be read.
func (u *update) UnmarshalJSON(data []byte) error {
	var id struct {
		UpdateID int `json:"update_id"`
	}
	if err := json.Unmarshal(data, &id); err != nil {
		return err
	}
	u.UpdateID = id.UpdateID
	if err := json.Unmarshal(data, &u.Update); err != nil {
		return err
	}
	var extras struct {
		Message  *extra `json:"message"`
		Edited   *extra `json:"edited_message"`
		Callback struct {
			Message *extra `json:"message"`
		} `json:"callback_query"`
		Reaction *reaction `json:"message_reaction"`
		Stopped  *stopped  `json:"stopped_message_generation"`
	}
	if err := json.Unmarshal(data, &extras); err != nil {
		return err
	}
	u.reaction, u.stopped = extras.Reaction, extras.Stopped
	for _, e := range []*extra{extras.Message, extras.Edited, extras.Callback.Message} {
		if e != nil {
			u.extra = *e
		}
	}
	return nil
}
