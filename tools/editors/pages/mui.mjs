import { AdapterDayjs } from '@mui/x-date-pickers/AdapterDayjs';
import { DateField } from '@mui/x-date-pickers/DateField';
import { LocalizationProvider } from '@mui/x-date-pickers/LocalizationProvider';
import { createElement, useState } from 'react';
import { createRoot } from 'react-dom/client';

function App() {
  const [value, setValue] = useState(null);
  globalThis.saved = () => (value && value.isValid() ? value.format('YYYY-MM-DD') : '');
  return createElement(LocalizationProvider, { dateAdapter: AdapterDayjs }, createElement(DateField, { label: 'Start', value, onChange: setValue }));
}
createRoot(document.querySelector('#editor')).render(createElement(App));
