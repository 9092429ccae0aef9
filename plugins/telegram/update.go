package main

import (
	"encoding/json"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
)

// update is an update with what the library, which knows the Bot API of 2021, leaves out.
type update struct {
	tgbotapi.Update
	extra    extra // of the message that the update is about
	reaction *reaction
	stopped  *stopped
}

// reaction is what somebody's reactions to a message were, and what they are now.
type reaction struct {
	Chat      *tgbotapi.Chat `json:"chat"`
	MessageID int            `json:"message_id"`
	User      *tgbotapi.User `json:"user"`
	Anonymous *tgbotapi.Chat `json:"actor_chat"`
	Date      int64          `json:"date"`
	Old       []emoji        `json:"old_reaction"`
	New       []emoji        `json:"new_reaction"`
}

// emoji is a reaction; those that are pictures have no emoji.
type emoji struct {
	Emoji string `json:"emoji"`
}

// stopped says that somebody pressed the button of a draft.
type stopped struct {
	Chat     *tgbotapi.Chat `json:"chat"`
	ThreadID int            `json:"message_thread_id"`
}

// received is an update as it came. One that cannot be read is confirmed all the same, or it would come for ever.
type received struct {
	update
	unreadable error
}

// UnmarshalJSON implements json.Unmarshaler. It has no error, which would lose the other updates of a poll.
func (r *received) UnmarshalJSON(data []byte) error {
	r.unreadable = json.Unmarshal(data, &r.update)
	return nil
}

// extra is what the library does not know of a message.
type extra struct {
	ThreadID int  `json:"message_thread_id"`
	IsTopic  bool `json:"is_topic_message"`
	Chat     struct {
		IsForum bool `json:"is_forum"`
	} `json:"chat"`
	Quote struct {
		Text string `json:"text"`
	} `json:"quote"`
	Rich    any `json:"rich_message"` // whatever it is
	ReplyTo struct {
		Rich         any `json:"rich_message"`
		TopicCreated *struct {
			Name string `json:"name"`
		} `json:"forum_topic_created"`
	} `json:"reply_to_message"`
	Elsewhere *elsewhere `json:"external_reply"`
	Origin    *origin    `json:"forward_origin"`
}

// elsewhere is a message of another chat that is answered. Of what it said there is what is quoted, but its file is there.
type elsewhere struct {
	tgbotapi.Message

	Origin *origin `json:"origin"`
}

// origin is where a forwarded message comes from.
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
