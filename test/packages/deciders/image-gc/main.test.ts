import { expect, test } from 'vitest';
import { ImageRemoval } from '../../../../schemas/events/command.ts';
import { Decision } from '../../../../schemas/events/decision.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { bodyOf, decisionLog, fact } from '../../../support/logs/decision-log.ts';

test('an inventory on the log becomes a decision and a command, from image-gc', async () => {
  const { start, publish, records } = await decisionLog();
  await start('image-gc');
  await publish(fact('inventory', inventory({ images: [image('a')], reclaim: reclaim() })));
  const [command] = await records('commands', 1);
  const [decided] = await records('decisions', 1);
  const record = Decision.parse(bodyOf(decided));
  expect(ImageRemoval.parse(bodyOf(command))).toMatchObject({ decisionId: record.id, items: [{ id: 'a' }] });
  expect(command).toMatchObject({ key: 'prod/web-1', headers: { ce_source: '/fleetgc/image-gc' } });
});
