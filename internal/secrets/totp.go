package secrets

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A totp is a generator of time-based one-time passwords, RFC 6238.
type totp struct {
	key    []byte
	digits int
	period time.Duration
	hash   func() hash.Hash
}

// errSeed does not contain the seed.
var errSeed = errors.New("is not a TOTP seed: give the seed in base32, or an otpauth:// URL")

// parseTOTP parses a seed in base32, as sites show it under the QR code, or the otpauth:// URL in
// the QR code.
func parseTOTP(s string) (*totp, error) {
	g := &totp{digits: 6, period: 30 * time.Second, hash: sha1.New}
	if u, err := url.Parse(s); err == nil && u.Scheme == "otpauth" {
		if !strings.EqualFold(u.Host, "totp") {
			return nil, errSeed
		}
		q := u.Query()
		if d := q.Get("digits"); d != "" {
			if g.digits, err = strconv.Atoi(d); err != nil || g.digits < 6 || g.digits > 10 {
				return nil, errors.New("has a number of digits other than 6 to 10")
			}
		}
		if p := q.Get("period"); p != "" {
			n, err := strconv.Atoi(p)
			if err != nil || n < 5 || n > 600 {
				return nil, errors.New("has a period other than 5 to 600 seconds")
			}
			g.period = time.Duration(n) * time.Second
		}
		switch strings.ToUpper(q.Get("algorithm")) {
		case "", "SHA1":
		case "SHA256":
			g.hash = sha256.New
		case "SHA512":
			g.hash = sha512.New
		default:
			return nil, errors.New("has an unknown algorithm")
		}
	}
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(seedOf(s))
	if err != nil || len(key) < 10 { // RFC 4226 requires 16; some sites use 10
		return nil, errSeed
	}
	g.key = key
	return g, nil
}

// seedOf returns the seed in s, which parseTOTP accepts, in base32 without separators.
func seedOf(s string) string {
	if u, err := url.Parse(s); err == nil && u.Scheme == "otpauth" {
		s = u.Query().Get("secret")
	}
	return strings.ToUpper(strings.NewReplacer(" ", "", "-", "", "=", "").Replace(s))
}

// earliest is a time before which the clock must be wrong.
var earliest = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// code returns the code at a time, and how long it remains valid.
func (t *totp) code(now time.Time) (code string, valid time.Duration, err error) {
	if now.Before(earliest) {
		return "", 0, fmt.Errorf("has no valid code: the clock of this machine shows %s", now.UTC().Format(time.DateOnly))
	}
	code, valid = t.at(now)
	return code, valid, nil
}

// at returns the code at any time, RFC 6238 section 4.
func (t *totp) at(now time.Time) (code string, valid time.Duration) {
	period := int64(t.period / time.Second)
	step := now.Unix() / period
	mac := hmac.New(t.hash, t.key)
	_ = binary.Write(mac, binary.BigEndian, step)
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	number := uint64(binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff)
	modulus := uint64(1)
	for range t.digits {
		modulus *= 10
	}
	return fmt.Sprintf("%0*d", t.digits, number%modulus), time.Unix((step+1)*period, 0).Sub(now)
}
