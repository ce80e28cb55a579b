import { expect, test } from 'vitest';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { ownLog } from '../../fleetgc.ts';
import { jsonOf, readTopic } from '../../read-topic.ts';
import { ALL, apply, WEB } from './apply-text.ts';

const WRITTEN =
  'was written to gc.policies all the same: services and nodes that remember such a policy of an earlier gc.policies let go of it when they read this.\n';

test('delete removes policies, all that are named or none', async () => {
  const own = await ownLog();
  await apply(own, `${ALL}---\n${WEB}`);

  const refused = await own.run('policy', 'delete', 'web', 'nope');
  expect(refused).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: `The deletion of "nope" ${WRITTEN}fleetgc policy delete: there is no policy named nope; fleetgc policy list lists them\n`,
  });
  expect(await own.run('policy', 'delete', 'web')).toEqual({
    exitCode: 0,
    stdout: 'web: deleted\n',
    stderr:
      'The next policy that selects the same holds there now. Without any, everything is kept. Applied again, it begins with version 1.\n',
  });
  expect((await own.run('policy', 'list')).stdout).not.toContain('web');
  expect((await own.run('policy', 'list')).stdout).toContain('all');
});

test('a record that nobody can read is told, and can be deleted', async () => {
  const own = await ownLog();
  await own.log.publish([
    { topic: TOPICS.policies.name, key: 'broken', value: Buffer.from('{"no":1}'), headers: {} },
  ]);

  const { stderr } = await own.run('policy', 'list');
  expect(stderr).toMatch(
    /^warning: gc\.policies holds a record that cannot be read \(key "broken", partition 0, offset 0\): .*\. Nothing is removed on any node until it is applied anew, or deleted with fleetgc policy delete "broken"\.\n/,
  );
  expect(await own.run('policy', 'show', 'broken')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(
      /^fleetgc policy show: gc\.policies holds a record that cannot be read \(key "broken"/,
    ),
  });
  expect((await own.run('policy', 'delete', 'broken')).stdout).toBe('broken: deleted\n');
  expect((await own.run('policy', 'list')).stderr).not.toContain('broken');
});

test('the deletion of what the topic says nothing of is written once, but never the end of a pause', async () => {
  const own = await ownLog();
  await own.run('pause');
  const refused = await own.run('policy', 'delete', 'web', '!pause');

  expect(refused).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `The deletion of "web" ${WRITTEN}fleetgc policy delete: there are no policies named web, !pause\n`,
  });
  expect((await own.run('policy', 'delete', 'web')).stderr).toBe(
    'fleetgc policy delete: there is no policy named web; fleetgc policy list lists them\n',
  );
  expect((await readTopic(own.log, 'gc.policies')).map(jsonOf)).toMatchObject([
    { type: 'fleetgc.pause' },
    { type: 'fleetgc.policy-deletion', key: 'web', wasHeld: false },
  ]);
});
