import { expect, test, vi } from 'vitest';
import { openArchiveLog } from '../../../packages/archive/read-archive.ts';
import { explainCluster } from '../../../packages/audit/explain/cluster.ts';
import { ruleWords } from '../../../packages/deciders/rule-words.ts';
import { makeReport } from '../../../packages/read-model/report.ts';
import { candidate, owner, ownership } from '../../fixtures/ownership.ts';
import { MINUTE } from '../../fixtures/time.ts';
import { TEST_BOUND_MS } from '../../pipeline/support/pipeline.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { archived, logOf } from '../audit/support/archives.ts';
import { begun, commandIn } from '../audit/support/cluster-history.ts';
import { named, verify } from '../audit/support/verify-recording.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

const range = { fromMs: null, toMs: null };
const needs = { onProgress: () => undefined, signal: new AbortController().signal };

test('an archive of a cluster is verified, explained and reported as the event log that it was made of', async () => {
  const history = begun();
  const doomed = candidate({ references: [owner('o', { state: 'gone' })] });
  const { command } = history.decide(ownership({ id: 'fact-1', candidates: [doomed] }));
  history.carryOut(commandIn(command));
  const settled = [
    { group: '', kind: 'ConfigMap', namespace: 'ns', name: 'x', uid: 'x', how: 'gone' as const },
  ];
  history.decide(ownership({ id: 'fact-2', settled }));
  history.nowMs += 30 * MINUTE;
  history.decide(ownership({ id: 'fact-3' }));
  const log = logOf(history.records);
  const directory = temporaryDirectory();
  await archived(log, directory);
  await using archive = await openArchiveLog(directory);

  const asked = { name: 'ConfigMap/ns/x', cluster: 'c1', range, thereOnly: false };
  const explained = await explainCluster(asked, { log: archive, words: ruleWords, ...needs });
  expect(explained).toMatchObject({ status: 'explained', lives: [{ state: 'removed' }] });
  expect(explained).toEqual(await explainCluster(asked, { log, words: ruleWords, ...needs }));

  const reporting = { range, nowMs: history.nowMs, onProgress: needs.onProgress };
  const report = await makeReport({ log: archive, ...reporting }, needs.signal);
  expect(report.clusters.removed).toMatchObject([{ rule: 'D14', objects: 1 }]);
  expect(report).toEqual(await makeReport({ log, ...reporting }, needs.signal));

  const verified = await verify(archive);
  expect(named(verified)).toEqual([]);
  expect(verified.counts).toMatchObject({ decisions: 3, verified: 3, commands: 1, removals: 1 });
});
