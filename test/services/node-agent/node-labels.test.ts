import { expect, test } from 'vitest';
import { nodeLabelsIn } from '../../../services/node/this-machine.ts';

test('a file of labels, with comments, quotes, prefixes and empty values', () => {
  const content = '# labels\n\nzone=a\n  disk="ssd" \nexample.com/role=worker\nempty=\n';
  expect(nodeLabelsIn(content, 'labels')).toEqual({
    zone: 'a',
    disk: 'ssd',
    'example.com/role': 'worker',
    empty: '',
  });
});

test('an empty file holds no labels', () => {
  expect(nodeLabelsIn('', 'labels')).toEqual({});
});

test('every line that is no label is named', () => {
  expect(() => nodeLabelsIn('zone=a\nnonsense\n=b\nkey=two words\n-x=1', '/etc/labels')).toThrow(
    '/etc/labels holds node labels, one name=value a line, and these lines are none: nonsense; =b; key=two words; -x=1',
  );
});
