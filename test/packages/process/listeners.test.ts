import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { REPOSITORY, textOf } from '../../deploy/files.ts';

/** What makes something that others can connect to. */
const LISTENER = /\bcreate(?:Secure)?Server\b|\bnew (?:\w+\.)?Server\(|\.listen\(\s*(?!lookSoon\b)/;

/** Each with the bounds that it has of its own. */
const LISTENERS: Readonly<Record<string, RegExp>> = {
  'packages/process/http-server.ts': /maxConnections[\s\S]*new OneAtATime\(/,
  'packages/process/listen.ts': /server\.listen\(/,
  // The runtime of a simulated node, at a socket in the filesystem.
  'packages/cri/server.ts': /bindAsync\S+\)\(`unix:/,
  // HTTP/2 at a socket in the filesystem, which its group alone may use: it has streams, and no pipelining.
  'packages/cri/proxy/reading-proxy.ts':
    /maxConcurrentStreams: MAX_CALLS_OF_A_CONNECTION[\s\S]*maxConnections = MAX_CONNECTIONS[\s\S]*boundRequest\(/,
};

test('nothing listens but by the one HTTP server, and by what is listed here', () => {
  const found = globSync('{bin,cli,packages,schemas,services,lab/demo,lab/sim}/**/*.{ts,tsx,mjs,js}', {
    cwd: REPOSITORY,
  })
    .filter((path) => LISTENER.test(textOf(path)))
    .toSorted();
  expect(found).toEqual(Object.keys(LISTENERS).toSorted());
});

test.each(Object.entries(LISTENERS))('%s has its bounds', (path, bounds) => {
  expect(textOf(path)).toMatch(bounds);
});
