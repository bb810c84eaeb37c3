// SPDX-License-Identifier: Apache-2.0

const shapes = {
  plus: 'M8 3v10M3 8h10',
  close: 'M4 4l8 8M12 4l-8 8',
  menu: 'M3 4.5h10M3 8h10M3 11.5h10',
  up: 'M3.5 10L8 5.5 12.5 10',
  down: 'M3.5 6L8 10.5 12.5 6',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5L14 14',
  record: 'M3 3.5h10v9H3zM5.5 6.5h5M5.5 9.5h3',
  eye: 'M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 9.8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6z',
} as const;

export function Icon({ name }: { name: keyof typeof shapes }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={shapes[name]} />
    </svg>
  );
}
