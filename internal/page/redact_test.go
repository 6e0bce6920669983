package page

import "testing"

func TestWithoutSecrets(t *testing.T) {
	for in, want := range map[string]string{
		`{"access_token": "abc\"d", "n": 1}`:                `{"access_token": "(6 characters)", "n": 1}`,
		`{"user":{"Password":"å1"},"tokens":12}`:            `{"user":{"Password":"(2 characters)"},"tokens":12}`,
		`{"apiKey":"x","api-key-id":"y","X-Auth-Token":""}`: `{"apiKey":"(1 characters)","api-key-id":"y","X-Auth-Token":"(0 characters)"}`,
		`{"author":"Ann","keywords":"password"}`:            `{"author":"Ann","keywords":"password"}`,
		`{"secret":"cut off`:                                `{"secret":"cut off`,
		`plain text`:                                        `plain text`,
	} {
		if got := withoutSecrets(in); got != want {
			t.Errorf("withoutSecrets(%s) = %s, want %s", in, got, want)
		}
	}
}
