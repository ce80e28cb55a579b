import { expect, test } from 'vitest';
import { removalErrors } from './kubelet-errors.ts';

const OURS = 'a'.repeat(64);
const OTHER = 'b'.repeat(64);
const RUNTIME = 'E1123 02:04:12.000000     612 log.go:32] "RemoveContainer from runtime service failed"';
const COLLECTOR = 'E1123 02:04:12.000000     612 kuberuntime_gc.go:151] "Failed to remove container"';
const met = (said: string, id: string, named = id): string =>
  `${said} err="rpc error: code = Unknown desc = failed to set removing state for container \\"${id}\\": container is already in removing state" containerID="${named}"`;

test('a kubelet may meet a container that we are removing; any other error of its removals is one', () => {
  const harmless = [met(RUNTIME, OURS), met(COLLECTOR, OURS)];
  const errors = [
    met(COLLECTOR, OTHER),
    met(COLLECTOR, OURS, OTHER),
    `${COLLECTOR} err="rpc error: code = Unknown desc = device busy" containerID="${OURS}"`,
    'W1123 02:04:12.000000     612 image_gc_manager.go:9] "Failed to garbage collect required amount of images"',
  ];
  const others = ['I1123 02:04:12.000000     612 kubelet.go:1] "removed"', 'E1123 02:04:12.000000 x "sync"'];

  const output = [...harmless, ...errors, ...others].join('\n');

  expect(removalErrors(output, new Set([OURS]))).toEqual(errors);
  expect(removalErrors(output, new Set())).toEqual([...harmless, ...errors]);
});
