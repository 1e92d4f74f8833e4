// SPDX-License-Identifier: Apache-2.0

package guest

//go:generate go run ./internal/build -o bin
