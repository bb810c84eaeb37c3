// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"context"

	"spawn/internal/strictjson"
)

// Do does the verb in this process, for the owner, and reads its result into result, a pointer. It is for
// the few verbs that need no spawnd. Errors are as the server gives them.
func (v Verb) Do(ctx context.Context, on Server, params, result any) error {
	src, err := strictjson.Marshal(params)
	if err != nil {
		return invalid(err)
	}
	done, err := v.run(ctx, &ask{on, &conn{s: newServer(Options{Server: on})}, Owner{}}, src)
	if err != nil {
		return err
	}
	if src, err = strictjson.Marshal(done); err != nil {
		return err
	}
	return strictjson.Unmarshal(src, result)
}
