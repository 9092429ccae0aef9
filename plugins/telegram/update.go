package main

import (
	"encoding/json"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
)

// update is an update with what the library, which knows the Bot API of 2021, leaves out.
type update struct {
	tgbotapi.Update
	extra extra // of the message that the update is about
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
	ReplyTo struct {
		TopicCreated *struct {
			Name string `json:"name"`
		} `json:"forum_topic_created"`
	} `json:"reply_to_message"`
	Elsewhere *struct {
		Origin *origin `json:"origin"`
	} `json:"external_reply"`
	Origin *origin `json:"forward_origin"`
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
	}
	if err := json.Unmarshal(data, &extras); err != nil {
		return err
	}
	for _, e := range []*extra{extras.Message, extras.Edited, extras.Callback.Message} {
		if e != nil {
			u.extra = *e
		}
	}
	return nil
}
