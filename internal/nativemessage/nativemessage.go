// Package nativemessage reads and writes the messages of Chrome's native messaging: JSON after its
// length in 32 bits, in the byte order of the machine. See
// https://developer.chrome.com/docs/extensions/develop/concepts/native-messaging.
package nativemessage

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// lengthSize is the size of the length of a message, in bytes.
const lengthSize = 4

// MaxToBrowser is the maximum size of a message to a browser, in bytes.
const MaxToBrowser = 1 << 20

// A TooLongError is the error of [Read] for a message that is longer than the limit.
type TooLongError struct {
	Size uint32 // of the message, in bytes
	Head []byte // the beginning of the message
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("a request of %d bytes is too long", e.Size)
}

// maxHead is the maximum size of the head in a TooLongError, in bytes.
const maxHead = 64

// Read reads a message of at most limit bytes into message. It returns io.EOF at the end of in. After
// a *TooLongError, which skips the message, the next one can be read.
func Read(in io.Reader, limit int, message any) error {
	var size uint32
	if err := binary.Read(in, binary.NativeEndian, &size); err != nil {
		return fmt.Errorf("no request: %w", err)
	}
	if int64(size) > int64(limit) {
		head := make([]byte, min(size, maxHead))
		_, err := io.ReadFull(in, head)
		if err == nil {
			_, err = io.CopyN(io.Discard, in, int64(size)-int64(len(head)))
		}
		if err != nil {
			return fmt.Errorf("the request is truncated: %w", err)
		}
		return &TooLongError{size, head}
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(in, data); err != nil {
		return fmt.Errorf("the request is truncated: %w", err)
	}
	if err := json.Unmarshal(data, message); err != nil {
		return errors.New("the request is malformed")
	}
	return nil
}

// Peek decodes the next message, of at most the size of the buffer of in, and leaves it in in.
func Peek(in *bufio.Reader, message any) error {
	length, err := in.Peek(lengthSize)
	if err != nil {
		return err
	}
	data, err := in.Peek(lengthSize + int(min(binary.NativeEndian.Uint32(length), math.MaxInt32-lengthSize)))
	if err != nil {
		return err
	}
	return json.Unmarshal(data[lengthSize:], message)
}

// Write writes a message.
func Write(out io.Writer, message any) error {
	var data bytes.Buffer
	data.Write(make([]byte, lengthSize))
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false) // texts have much HTML
	if err := enc.Encode(message); err != nil {
		return err
	}
	size := data.Len() - lengthSize
	if size > MaxToBrowser {
		return fmt.Errorf("a response of %d bytes is too long", size)
	}
	binary.NativeEndian.PutUint32(data.Bytes(), uint32(size))
	_, err := out.Write(data.Bytes())
	return err
}
