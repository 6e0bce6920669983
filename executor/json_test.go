package executor_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestJSONOfTimes checks the JSON form of the structs whose durations and times are numbers in JSON,
// and that it is decoded to the same value.
func TestJSONOfTimes(t *testing.T) {
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		value any
		want  string
	}{
		{executor.WaitResult{}, `{"matched":false,"waitedMs":0}`},
		{executor.WaitResult{Waited: 999 * time.Microsecond}, `{"matched":false,"waitedMs":0}`},
		{executor.WaitResult{Matched: true, Ref: "e9", Waited: 120*time.Millisecond + 900*time.Microsecond, Unmet: []string{"text"}, Note: "n"},
			`{"matched":true,"ref":"e9","waitedMs":120,"unmet":["text"],"note":"n"}`},
		{executor.Request{}, `{"id":"","method":"","url":"","type":"","bytes":0,"ms":0,"time":"0001-01-01T00:00:00Z"}`},
		{executor.Request{
			ID: "r1", Method: "GET", URL: "https://a.test/", Type: "fetch", Status: 200, MIMEType: "text/plain", Bytes: 3, Duration: 1500 * time.Millisecond, Running: true,
			Error: "e", DeniedByPolicy: true, Time: noon, RequestHeaders: map[string]string{"A": "b"}, ResponseHeaders: map[string]string{"C": "d"}, Body: "abc", BodyBytes: 3, Binary: true,
		}, `{"id":"r1","method":"GET","url":"https://a.test/","type":"fetch","status":200,"mimeType":"text/plain","bytes":3,"ms":1500,"running":true,"error":"e","deniedByPolicy":true,` +
			`"time":"2026-11-29T12:00:00Z","requestHeaders":{"A":"b"},"responseHeaders":{"C":"d"},"body":"abc","bodyBytes":3,"binary":true}`},
		{executor.Cookie{}, `{"name":"","bytes":0}`}, // until the browser exits
		{executor.Cookie{
			Name: "sid", Value: "v", Bytes: 1, Domain: ".a.test", Path: "/", Expires: time.Unix(1_900_000_000, 999_999_999), HTTPOnly: true, Secure: true,
			SameSite: executor.SameSiteLax, Partition: "https://b.test",
		}, `{"name":"sid","value":"v","bytes":1,"domain":".a.test","path":"/","expires":1900000000,"httpOnly":true,"secure":true,"sameSite":"Lax","partition":"https://b.test"}`},
		{executor.Cookie{Expires: time.Unix(-1, 0)}, `{"name":"","bytes":0,"expires":-1}`},
		{&executor.Requests{Requests: []executor.Request{{Duration: time.Second}}}, `{"requests":[{"id":"","method":"","url":"","type":"","bytes":0,"ms":1000,"time":"0001-01-01T00:00:00Z"}],"matched":0,"origin":""}`},
		{&executor.Cookies{Cookies: []executor.Cookie{{Name: "a"}}}, `{"origin":"","cookies":[{"name":"a","bytes":0}],"total":0}`},
	} {
		got, err := json.Marshal(tt.value)
		if err != nil || string(got) != tt.want {
			t.Errorf("%+v: %s, %v, want %s", tt.value, got, err, tt.want)
		}
		decoded := reflect.New(reflect.TypeOf(tt.value))
		if err := json.Unmarshal(got, decoded.Interface()); err != nil {
			t.Errorf("%s: %v", got, err)
		}
		if again, err := json.Marshal(decoded.Interface()); err != nil || string(again) != tt.want {
			t.Errorf("%s was decoded as %s, %v", got, again, err)
		}
	}
	var c executor.Cookie
	if err := json.Unmarshal([]byte(`{"name":"a","expires":1900000000}`), &c); err != nil || !c.Expires.Equal(time.Unix(1_900_000_000, 0)) {
		t.Errorf("cookie %+v, %v", c, err)
	}
	var r executor.WaitResult
	if err := json.Unmarshal([]byte(`{"waitedMs":1500}`), &r); err != nil || r.Waited.Milliseconds() != 1500 {
		t.Errorf("result %+v, %v", r, err)
	}
}
