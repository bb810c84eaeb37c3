// SPDX-License-Identifier: Apache-2.0

//go:build race

package secret

const raceDetector = true
