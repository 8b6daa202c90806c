package objects

import (
	"encoding/base64"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

// The documents of --json. Times are RFC 3339 in UTC; what is not known is absent.
type (
	namespace struct {
		Namespace   string `json:"namespace"`
		Objects     int32  `json:"objects"`
		MoreObjects bool   `json:"more_objects"`
		Served      bool   `json:"served"`
	}
	object struct {
		Namespace string  `json:"namespace"`
		ObjectID  string  `json:"object_id"`
		Name      *string `json:"object_name,omitempty"`
		Keys      int32   `json:"keys"`
		MoreKeys  bool    `json:"more_keys"`
		Alarm     *alarm  `json:"alarm,omitempty"`
		Actor     *actor  `json:"actor,omitempty"`
	}
	alarm struct {
		Scheduled time.Time `json:"scheduled_time"`
		Due       time.Time `json:"due_time"`
		Retries   int32     `json:"retries"`
		Counted   int32     `json:"counted_retries"`
	}
	actor struct {
		Active        int32      `json:"active"`
		Waiting       int32      `json:"waiting"`
		LastActive    *time.Time `json:"last_active,omitempty"`
		BrokenReason  string     `json:"broken_reason,omitempty"`
		BrokenMessage string     `json:"broken_message,omitempty"`
	}
	key struct {
		// Key has bytes that are no UTF-8 replaced; KeyBase64 then has them.
		Key       string `json:"key"`
		KeyBase64 string `json:"key_base64,omitempty"`
		Type      string `json:"type"`
		Size      int64  `json:"size"`
		Value     string `json:"value"`
		Cut       bool   `json:"value_cut"`
	}
	hostDoc struct {
		ID       string `json:"host_id"`
		Epoch    uint64 `json:"epoch"`
		Draining bool   `json:"draining"`
		AtRest   bool   `json:"at_rest"`
	}
)

func namespaceJSON(n *dopb.NamespaceInfo) namespace {
	return namespace{n.GetNamespace(), n.GetObjects(), n.GetMoreObjects(), n.GetServed()}
}

func objectJSON(ns string, s *dopb.ObjectSummary) object {
	return object{
		Namespace: ns, ObjectID: hexID(s.GetObjectId()), Name: s.ObjectName, Keys: s.GetKeys(), MoreKeys: s.GetMoreKeys(),
		Alarm: alarmJSON(s.GetAlarm()), Actor: actorJSON(s.GetActor()),
	}
}

func alarmJSON(a *dopb.AlarmInfo) *alarm {
	if a == nil {
		return nil
	}
	return &alarm{
		a.GetScheduledTime().AsTime(), a.GetDueTime().AsTime(), a.GetRetries(), a.GetCountedRetries(),
	}
}

func actorJSON(a *dopb.ActorInfo) *actor {
	if a == nil {
		return nil
	}
	return &actor{
		Active: a.GetActive(), Waiting: a.GetWaiting(), LastActive: timeJSON(a.GetLastActive()),
		BrokenReason: a.GetBrokenReason(), BrokenMessage: a.GetBrokenMessage(),
	}
}

func timeJSON(t *timestamppb.Timestamp) *time.Time {
	if t == nil {
		return nil
	}
	at := t.AsTime()
	return &at
}

func keyJSON(k *dopb.KeyInfo) key {
	out := key{
		Key: strings.ToValidUTF8(string(k.GetKey()), "\ufffd"), Type: k.GetType(), Size: k.GetSize(),
		Value: k.GetPreview(), Cut: k.GetPreviewCut(),
	}
	if !utf8.Valid(k.GetKey()) {
		out.KeyBase64 = base64.StdEncoding.EncodeToString(k.GetKey())
	}
	return out
}

func hostJSON(h *dopb.HostInfo) hostDoc {
	return hostDoc{h.GetHostId(), h.GetEpoch(), h.GetDraining(), h.GetAtRest()}
}
