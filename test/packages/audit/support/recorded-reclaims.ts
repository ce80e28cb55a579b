import { MINUTE, SECOND } from '../../../fixtures/time.ts';
import { allEnded } from '../../../pipeline/support/accounts.ts';
import { oldImages, pressure } from '../../../pipeline/support/images.ts';
import { startPipeline } from '../../../pipeline/support/pipeline.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { type Recording, recordingOf } from './recorded-log.ts';

let recorded: Promise<Recording> | null = null;

/** What a node leaves on the log whose images go in two reclaims, with a container that dies in between; made once. */
export function recordedReclaims(): Promise<Recording> {
  recorded ??= record();
  return recorded;
}

async function record(): Promise<Recording> {
  await using pipeline = await startPipeline();
  const { node, time, log } = pipeline;
  await log.publish(
    pipeline
      .policies()
      .policies.map((event) => outgoing({ topic: 'policyVersions', key: event.hash, event })),
  );
  await pipeline.startNode();
  const pod = { namespace: 'default', containers: { app: 'app/live:1' } };
  const uid = await node.kubelet.startPod({ ...pod, name: 'live' });
  await oldImages(pipeline, ['app/a:1', 'app/b:1', 'app/c:1', 'app/d:1']);
  pressure(pipeline, 95n);
  await time.passUntil('images to go', 3 * MINUTE, () => node.runtime.images.size < 5);
  node.kubelet.crashPod(uid);
  pressure(pipeline, 50n);
  await time.pass(30 * SECOND);
  await oldImages(pipeline, ['app/e:1', 'app/f:1']);
  await node.runtime.pullImage('app/live:1');
  pressure(pipeline, 95n);
  await time.passUntil('images to go again', 3 * MINUTE, () => node.runtime.images.size < 3);
  pressure(pipeline, 50n);
  await time.pass(6 * MINUTE);
  await time.passUntil('every command to end', MINUTE, () => allEnded(pipeline));
  return await recordingOf(log, 30 * SECOND);
}
