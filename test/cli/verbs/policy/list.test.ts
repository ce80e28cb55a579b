import { expect, test } from 'vitest';
import { ownLog } from '../../fleetgc.ts';
import { ALL, apply, WEB } from './apply-text.ts';

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;

test('list shows policies in the order in which they are asked, after the pauses', async () => {
  const own = await ownLog();
  await apply(own, `${ALL}---\n${WEB}`);
  await own.run('pause', '--cluster', 'prod', '--reason', 'registry is down');
  const { stdout } = await own.run('policy', 'list');

  expect(stdout.replaceAll(TIME, '<the time of applying>')).toBe(
    [
      'paused: cluster prod, since <the time of applying> (registry is down)',
      '',
      'NAME   VERSION   MODE      PRIORITY   IMAGES       APPLIED                NODES',
      'web    1         enforce   0          85% to 80%   <the time of applying>   cluster prod',
      'all    1         dry-run   -1         85% to 80%   <the time of applying>   all nodes',
      '',
    ].join('\n'),
  );
});

test('list of nothing', async () => {
  const { run } = await ownLog();

  expect(await run('policy', 'list')).toEqual({
    exitCode: 0,
    stdout: '',
    stderr: 'There are no policies: every node keeps everything.\n',
  });
});
