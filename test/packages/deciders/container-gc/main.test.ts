import { expect, test } from 'vitest';
import { ContainerRemoval } from '../../../../schemas/events/command.ts';
import { Decision } from '../../../../schemas/events/decision.ts';
import { Observe } from '../../../../schemas/events/observe.ts';
import { container, gonePod, inventory } from '../../../fixtures/inventory.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { bodyOf, decisionLog, fact } from '../../../support/logs/decision-log.ts';

test('an inventory on the log becomes a decision and a command, from container-gc', async () => {
  const { start, publish, records } = await decisionLog();
  await start('container-gc');
  await publish(fact('inventory', inventory({ containers: [container('c')], pods: [gonePod('pod-1')] })));
  const [command] = await records('commands', 1);
  const [decided] = await records('decisions', 1);
  const record = Decision.parse(bodyOf(decided));
  expect(ContainerRemoval.parse(bodyOf(command))).toMatchObject({
    decisionId: record.id,
    items: [{ id: 'c' }],
  });
  expect(command).toMatchObject({ key: 'prod/web-1', headers: { ce_source: '/fleetgc/container-gc' } });
});

test('with nothing to remove the reclaim goes on to its images over the log', async () => {
  const { start, publish, records } = await decisionLog();
  await start('container-gc');
  await publish(fact('inventory', inventory({ reclaim: reclaim({ step: 'containers' }) })));
  const [order] = await records('observe', 1);
  expect(Observe.parse(bodyOf(order)).reclaim).toMatchObject({ step: 'images', round: 1 });
});
