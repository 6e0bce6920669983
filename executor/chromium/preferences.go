package chromium

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// noPrediction is Chromium's number for "load nothing ahead".
const noPrediction = "2"

// predictNothing has the browser of a profile make no connection before it is
// needed. There is no switch for it. With it on, Chromium connects to where a
// tab is about to go before anybody is asked whether it may.
func predictNothing(profile string) error {
	file := filepath.Join(profile, "Default", "Preferences")
	all, net := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	switch data, err := os.ReadFile(file); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case json.Unmarshal(data, &all) != nil:
		clear(all) // Chromium would throw it away as well
	}
	if json.Unmarshal(all["net"], &net) != nil || net == nil {
		net = map[string]json.RawMessage{}
	}
	if string(net["network_prediction_options"]) == noPrediction {
		return nil
	}
	net["network_prediction_options"] = json.RawMessage(noPrediction)
	var err error
	if all["net"], err = json.Marshal(net); err != nil {
		return err
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), "Preferences-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(data)
	err = errors.Join(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		os.Remove(temporary.Name())
	}
	return err
}
